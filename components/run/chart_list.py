"""Which curves there are, and what each of them tells."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.records.curves import TERMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart: its metrics, and what a person should know about them."""

    title: str
    names: Sequence[str]
    """Metrics as they are named in the file; one that ends in `/` means all that begin so."""
    about: str
    wide: bool = False
    goals: bool = False
    """Whether the solved line and the expected band belong here."""
    scalable: bool = False
    """Whether its lines can be brought to one scale."""


CHARTS = (
    Chart(
        title="Reward",
        names=("reward", "eval_reward"),
        about="What each episode brought. Good: it rises and then stays up.",
        wide=True,
        goals=True,
    ),
    Chart(
        title="Shaped reward",
        names=("shaped_reward",),
        about="What the reward function gave in each episode: this is what the agent learns from.",
    ),
    Chart(
        title="Reward terms",
        names=(TERMS,),
        about="What each term of the reward function gave. One that dwarfs the rest is learned.",
        scalable=True,
    ),
    Chart(
        title="Episode length",
        names=("episode_length", "eval_length"),
        about="Steps per episode. Good: long where surviving counts, short where arriving does.",
    ),
    Chart(
        title="Losses",
        names=(
            "loss",
            "policy_loss",
            "value_loss",
            "actor_loss",
            "critic_loss",
            "ent_coef_loss",
        ),
        about="What training makes smaller. Their size says little; a sudden jump says a lot.",
        scalable=True,
    ),
    Chart(
        title="Entropy",
        names=("entropy",),
        about="How undecided the policy is. Good: it falls slowly; at 0 it has stopped exploring.",
    ),
    Chart(
        title="KL divergence",
        names=("approx_kl", "kl_divergence"),
        about="How far one update moves the policy. Good for PPO: mostly below 0.03.",
    ),
    Chart(
        title="Clip fraction",
        names=("clip_fraction",),
        about="How often PPO had to hold an update back. Good: 0.05 to 0.3.",
    ),
    Chart(
        title="Explained variance",
        names=("explained_variance",),
        about="How well the critic foresees returns. Good: it nears 1; below 0 it guesses badly.",
    ),
    Chart(
        title="Gradient norm",
        names=("grad_norm",),
        about="How hard an update pulls at the network. Good: no peaks that keep growing.",
    ),
    Chart(
        title="FPS",
        names=("fps",),
        about="Environment steps per second. Good: even; a slow fall hints at a crowded machine.",
    ),
    Chart(
        title="Learning rate",
        names=("learning_rate",),
        about="The size of the steps in which it learns, as its schedule has it.",
    ),
    Chart(
        title="Exploration rate",
        names=("exploration_rate",),
        about="How often it acts at random. It falls as the settings say.",
    ),
    Chart(
        title="Entropy coefficient",
        names=("ent_coef",),
        about="How much surprise is worth to the agent. Good: it settles once the target is met.",
    ),
    Chart(
        title="Expected return",
        names=("value_min", "value_mean", "value_max"),
        about="What the critic expects. Good: close to the rewards that really come, discounted.",
    ),
    Chart(
        title="Actions",
        names=("action_share/",),
        about="How often each action is chosen. One line at 1 means that it always does the same.",
    ),
    Chart(
        title="Action means",
        names=("action_mean/",),
        about="The mean of each part of the action. Stuck at a bound means it always pushes fully.",
    ),
    Chart(
        title="Action spread",
        names=("std", "action_std/"),
        about="How much actions vary. It falls as the policy becomes sure.",
    ),
    Chart(
        title="Dead units",
        names=("dead_units",),
        about="The share of units that never say anything. Good: below 0.3.",
    ),
    Chart(
        title="Time split (s)",
        names=("collect_s", "learn_s"),
        about="Seconds spent on playing and on learning, per update.",
    ),
    Chart(
        title="Return spread",
        names=("return_std",),
        about="How much the tried directions differ in return, for ARS.",
    ),
)
