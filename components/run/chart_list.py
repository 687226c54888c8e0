"""The charts of a run and their metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.records import TERM_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart: its metrics and their explanation."""

    title: str
    names: Sequence[str]
    """Names of metrics as in the file; one that ends in `/` is a prefix."""
    about: str
    wide: bool = False
    goals: bool = False
    """Whether to draw the solved threshold and the expected band."""
    scalable: bool = False
    """Whether its lines can be scaled to a common maximum."""


CHARTS = (
    Chart(
        title="Reward",
        names=("reward", "eval_reward"),
        about="Total reward of each episode. Good: it rises, then stays high.",
        wide=True,
        goals=True,
    ),
    Chart(
        title="Shaped reward",
        names=("shaped_reward",),
        about="Total of the custom reward in each episode: this is what the agent learns from.",
    ),
    Chart(
        title="Reward terms",
        names=(TERM_PREFIX,),
        about=(
            "Total of each reward term per episode. A term that dominates is the one that is "
            "learned."
        ),
        scalable=True,
    ),
    Chart(
        title="Episode length",
        names=("episode_length", "eval_length"),
        about="Steps per episode. Good: long in survival tasks, short in goal-reaching tasks.",
    ),
    Chart(
        title="Success rate",
        names=("success_rate", "eval_success_rate"),
        about="Fraction of episodes that reached the goal. Good: it rises towards 1.",
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
        about="What training minimizes. The absolute value says little; a sudden jump says a lot.",
        scalable=True,
    ),
    Chart(
        title="Entropy",
        names=("entropy", "max_entropy"),
        about="How random the policy is. Good: it falls slowly; at 0 exploration has stopped.",
    ),
    Chart(
        title="KL divergence",
        names=("approx_kl", "kl_divergence"),
        about="How far one update moves the policy. Good for PPO: mostly below 0.03.",
    ),
    Chart(
        title="Clip fraction",
        names=("clip_fraction",),
        about="Fraction of samples that PPO clipped. Good: 0.05 to 0.3.",
    ),
    Chart(
        title="Explained variance",
        names=("explained_variance",),
        about=(
            "How well the critic predicts returns. Good: near 1; below 0 is worse than their mean."
        ),
    ),
    Chart(
        title="Gradient norm",
        names=("grad_norm",),
        about="Norm of the gradient before clipping. Good: no growing peaks.",
    ),
    Chart(
        title="FPS",
        names=("fps",),
        about="Environment steps per second. Good: steady; a slow decline suggests a busy machine.",
    ),
    Chart(
        title="Learning rate",
        names=("learning_rate",),
        about="Learning rate of the optimizer, following its schedule.",
    ),
    Chart(
        title="Exploration rate",
        names=("exploration_rate",),
        about="Fraction of random actions. It falls along its schedule.",
    ),
    Chart(
        title="Entropy coefficient",
        names=("ent_coef",),
        about="Weight of the entropy bonus. Good: it settles once the entropy target is met.",
    ),
    Chart(
        title="Expected return",
        names=("value_min", "value_mean", "value_max"),
        about="Return that the critic predicts. Good: close to the observed discounted return.",
    ),
    Chart(
        title="Actions",
        names=("action_share/",),
        about="How often each action is chosen. A line at 1 means always the same action.",
    ),
    Chart(
        title="Action means",
        names=("action_mean/",),
        about="Mean of each action component. A value stuck at a bound means saturated actions.",
    ),
    Chart(
        title="Action spread",
        names=("std", "action_std/"),
        about="Standard deviation of the actions. It falls as the policy becomes deterministic.",
    ),
    Chart(
        title="Dead units",
        names=("dead_units",),
        about="Fraction of units that are never active. Good: below 0.3.",
    ),
    Chart(
        title="Time split (s)",
        names=("collect_s", "learn_s"),
        about="Seconds spent on collecting and on learning, per update.",
    ),
    Chart(
        title="Return spread",
        names=("return_std",),
        about="Standard deviation of the returns of the sampled directions, for ARS.",
    ),
)
