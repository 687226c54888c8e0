"""What the numbers mean, in a sentence or two each, and what good looks like."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from app.catalog.environments.spec import ActionKind, EnvSpec


@dataclass(frozen=True, slots=True)
class Term:
    """One number, chart or field."""

    what: str
    """What it is."""
    good: str | Callable[[EnvSpec], str] = ""
    """What it looks like when all is well; a function where that depends on the environment."""


def explanation(name: str, spec: EnvSpec | None = None) -> str:
    """Return what `name` means, in `spec` if it is given; names below others share their text."""
    term = TERMS[name.partition("/")[0]]
    if isinstance(term.good, str):
        return f"{term.what} {term.good}".strip()
    return f"{term.what} {term.good(spec)}" if spec is not None else term.what


def _enough_reward(spec: EnvSpec) -> str:
    if spec.solved_threshold is not None:
        return f"{spec.name} counts as solved from {spec.solved_threshold:,g} on."
    if spec.reward_range[1] == 0:
        return f"{spec.name} never gives more than 0, so the closer to 0 the better."
    return f"{spec.name} has no official threshold: higher is better."


def _good_length(spec: EnvSpec) -> str:
    low, high = spec.reward_range
    limit = spec.max_episode_steps
    end = f", and an episode ends after {limit:,} at the latest" if limit else ""
    if low is not None and low == high and low > 0:
        return f"Longer is better here: every step earns {low:g}{end}."
    if high is not None and high < 0:
        return f"Shorter is better here: every step costs at least {-high:g}{end}."
    return f"Whether longer is better depends on the task{end}."


def _good_entropy(spec: EnvSpec) -> str:
    if spec.action_kind is ActionKind.DISCRETE and spec.n_actions:
        most = math.log(spec.n_actions)
        return (
            f"It begins near {most:.2f}, a choice between {spec.n_actions} actions by chance, and "
            "should fall slowly; near 0 early on, it has stopped exploring."
        )
    return "It should fall slowly; a sudden drop means that it has stopped exploring."


TERMS: dict[str, Term] = {
    "reward_code": Term(
        "An agent learns what it is paid for, so this is where one says what one wants. Return a "
        "number, or a dict of named numbers: their sum is learned from, each becomes a curve.",
        "Escape, then Tab leaves the editor. Ctrl-S saves a version.",
    ),
    "reward_call": Term(
        "How long the reward function takes, once per step.",
        "Some microseconds are nothing; a millisecond slows every training down.",
    ),
    "reward_share": Term(
        "Which part of the time of a step the reward would take; learning comes on top.",
        "The lower the better.",
    ),
    "rank_agreement": Term(
        "Whether better episodes are paid more: 1 orders them as their true return does, 0 not at "
        "all, -1 the other way round.",
        "Close to 1, who learns from it also gets better at the task.",
    ),
    "reward_terms": Term(
        "What each term gives per step over recorded episodes. Share is its part of all that is "
        "paid, signs aside; outliers are far from the mean.",
        "A term that dwarfs the others is the one that is learned.",
    ),
    "reward_probes": Term(
        "What those who act well are paid, and what cheap tricks are paid.",
        "A trick that is paid more although its true return is worse will be learned.",
    ),
    "mean_reward": Term(
        "The mean total reward of the last 100 episodes, or of all while there are fewer.",
        _enough_reward,
    ),
    "score": Term(
        "Score: the best evaluation beside the training if there was one, else the mean reward of "
        "the last 100 episodes. Seeds of a group count together: their interquartile mean, with "
        "the 95 % interval behind it.",
    ),
    "reward": Term(
        "Each bar is the total reward of one episode, the newest on the right.", _enough_reward
    ),
    "shaped_reward": Term(
        "The total that the run's own reward function gave in an episode: what the agent learns "
        "from. Mean reward, solved and evaluations keep to the environment's reward.",
        "It should rise together with the reward; if only this rises, the function is exploited.",
    ),
    "terms": Term(
        "The total of one term of the run's own reward function in an episode.",
        "No single term should drown the others unless that is meant.",
    ),
    "learning_curve": Term(
        "Faint: the reward of each episode; strong: the mean of the last 100. A good curve rises "
        "and stays up.",
        _enough_reward,
    ),
    "eval_reward": Term(
        "The mean reward of a few episodes on fixed seeds, played without exploration and noise.",
        _enough_reward,
    ),
    "mean_length": Term("How many steps the last 100 episodes took on average.", _good_length),
    "episode_length": Term("How many steps an episode took.", _good_length),
    "loss": Term(
        "What the last update tried to make smaller.",
        "Steady is fine, shooting up isn't. A falling loss is no success by itself: look at the "
        "reward.",
    ),
    "fps": Term(
        "Environment steps per second, learning included.",
        "More is sooner, not better. It falls when other runs share the machine.",
    ),
    "live_feed": Term(
        "The newest policy plays an episode of its own here, while training goes on elsewhere and "
        "faster.",
        "The reward is what this episode has brought so far.",
    ),
    "progress": Term(
        "How much of the budget of steps is used; the time left is guessed from the speed so far."
    ),
    "policy_loss": Term(
        "The part of the loss that changes what the agent does.",
        "It wavers around 0, and its size says little.",
    ),
    "value_loss": Term(
        "How far off, squared, the agent's predictions of its returns were.",
        "It often grows while rewards grow, and falls once they settle.",
    ),
    "entropy_loss": Term("The entropy of the policy, with its sign turned around."),
    "entropy": Term("How undecided the policy is.", _good_entropy),
    "approx_kl": Term(
        "How far one update moved the policy away from the one that acted.",
        "Up to about 0.03 is usual; again and again above 0.05, the steps are too big: lower the "
        "learning rate.",
    ),
    "kl_divergence": Term(
        "How far the last update moved the policy.", "It stays below target_kl by design."
    ),
    "clip_fraction": Term(
        "The share of the experience on which PPO's clip range held the policy back.",
        "0.05 to 0.3 is usual; near 0 updates are timid, above 0.5 too bold.",
    ),
    "clip_range": Term("The clip range of the last update, as its schedule has it."),
    "explained_variance": Term(
        "How well the agent predicts its returns: 1 is perfect, 0 no better than always guessing "
        "their mean, below 0 worse than that.",
        "It should rise towards 1.",
    ),
    "std": Term(
        "How widely actions are spread around the one that the policy prefers.",
        "It shrinks as the agent grows sure; if it grows, ent_coef is too large.",
    ),
    "learning_rate": Term("The learning rate of the last update, as its schedule has it."),
    "actor_loss": Term(
        "Minus what the critics expect of the policy's actions.",
        "It falls as the agent expects more, below 0 where rewards are positive.",
    ),
    "critic_loss": Term(
        "How far off, squared, the critics' predictions were.",
        "It grows with the size of returns; steady is fine, exploding means that the learning "
        "rate is too high.",
    ),
    "ent_coef": Term(
        "How much surprise is worth beside reward.", "Found automatically, it falls and settles."
    ),
    "ent_coef_loss": Term(
        "What the search for ent_coef tries to make smaller.",
        "Near 0 the policy is as unpredictable as was asked for.",
    ),
    "policy_objective": Term(
        "How much better the new policy looks on the collected experience than the old one.",
        "It should be above 0.",
    ),
    "exploration_rate": Term(
        "The share of actions that are chosen at random.",
        "It fades as planned; until then rewards are lower than the agent could get.",
    ),
    "grad_norm": Term(
        "How long the gradient was before it was shortened.",
        "Steady is good. Always above max_grad_norm, every step is cut; peaks announce trouble.",
    ),
    "dead_units": Term(
        "The share of the network's units that say the same whatever is seen.",
        "0 is best; above a half, much of the network is lost: lower the learning rate.",
    ),
    "value_mean": Term(
        "The return that the agent expects, on average.",
        "It follows the reward; far above what episodes bring, the agent is too optimistic.",
    ),
    "value_std": Term("How much the expected return differs from state to state."),
    "value_min": Term("The lowest return that the agent expects in what it saw last."),
    "value_max": Term("The highest return that the agent expects in what it saw last."),
    "action_share": Term(
        "How often this action was chosen lately.",
        "One that takes over early has ended exploration.",
    ),
    "action_mean": Term("The mean of this part of the action lately."),
    "action_std": Term(
        "How much this part of the action varied lately.", "Near 0 it is always the same."
    ),
    "collect_s": Term("Seconds spent on acting in the environment since the last update."),
    "learn_s": Term("Seconds spent on learning since the last update."),
    "return_std": Term(
        "How much the returns of the tried changes differ.", "At 0 none stands out."
    ),
    "delta_std": Term("How far each tried change of the weights goes."),
    "step_size": Term("How far the last update moved the weights."),
    "compared_curves": Term(
        "Each run keeps its colour. A group is its interquartile mean, the mean of the middle half "
        "of its seeds, with the band in which it would lie in 95 % of repetitions.",
        "Bands that don't overlap are a good sign; with fewer than five seeds they are too narrow.",
    ),
    "probability_of_improvement": Term(
        "How likely a seed of the one beats a seed of the other.",
        "50 % is a draw; an interval that stays above 50 % speaks for the first.",
    ),
}
