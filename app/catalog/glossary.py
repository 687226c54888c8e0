"""Explanations of metrics and fields in a sentence or two, with the values to aim for."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from app.catalog.algorithms import Family
from app.catalog.environments import ActionKind, EnvSpec

_REWARDS_OF_TRAINING = ("mean_reward", "reward", "learning_curve")
_OF_PERTURBED_POLICIES = (
    "Here the episodes are played by randomly perturbed copies of the policy; evaluations play the "
    "policy itself."
)


@dataclass(frozen=True, slots=True)
class Term:
    """The explanation of a number, chart or field."""

    what: str
    """What it is."""
    good: str | Callable[[EnvSpec], str] = ""
    """The values to aim for; a function if they depend on the environment."""


def explanation(name: str, spec: EnvSpec | None = None, family: Family | None = None) -> str:
    """Return the explanation of `name`; `a/b` has the explanation of `a`.

    It is more specific for an environment and for a family of algorithms.
    """
    term = GLOSSARY[name.partition("/")[0]]
    sentences = [term.what]
    if isinstance(term.good, str):
        sentences.append(term.good)
    elif spec is not None:
        sentences.append(term.good(spec))
    if family is Family.SEARCH and name in _REWARDS_OF_TRAINING:
        sentences.append(_OF_PERTURBED_POLICIES)
    return " ".join(filter(None, sentences))


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
            f"It starts near {most:.2f}, a uniform choice between {spec.n_actions} actions "
            "(lower with action masks), and should fall slowly; near 0 early in training, "
            "exploration has stopped."
        )
    return "It should fall slowly; a sudden drop means that exploration has stopped."


GLOSSARY: dict[str, Term] = {
    "reward_code": Term(
        "The agent maximizes this reward instead of the environment's. Return a number, or a dict "
        "of named terms: their sum is the reward, each term becomes a curve.",
        "Escape, then Tab leaves the editor. Ctrl-S saves a version.",
    ),
    "reward_call": Term(
        "Time of one call of the reward function, which runs once per step.",
        "A few microseconds don't matter; a millisecond slows training down.",
    ),
    "reward_share": Term(
        "Share of the time of an environment step that the reward would take, learning excluded.",
        "Lower is better.",
    ),
    "rank_agreement": Term(
        "Whether better episodes earn more: at 1 they are ranked as by their true return, at 0 "
        "independently of it, at -1 in reverse.",
        "Close to 1, maximizing this reward also improves the true return.",
    ),
    "reward_terms": Term(
        "What each term gives per step over recorded episodes. Share is its part of the sum of "
        "absolute values; outliers are far from the mean.",
        "A term that dominates the others is the one that is learned.",
    ),
    "reward_probes": Term(
        "The reward of good trajectories and of degenerate policies (probes).",
        "A probe with a higher reward but a worse true return is an exploit that the agent would "
        "learn.",
    ),
    "mean_reward": Term(
        "Mean total reward of the last 100 episodes, or of all if there are fewer.",
        _enough_reward,
    ),
    "score": Term(
        "Score: the mean return of the final evaluation (the final policy on seeds that selected "
        "nothing); else of the last periodic evaluation; else of the last 100 training episodes, "
        "with exploration. The words below it tell which. For a seed group: the interquartile "
        "mean, followed by its 95 % interval.",
    ),
    "reward": Term(
        "Each bar is the total reward of one episode, the newest on the right.", _enough_reward
    ),
    "shaped_reward": Term(
        "Total of the custom reward in an episode: what the agent learns from. Mean reward, solved "
        "and evaluations use the environment's reward.",
        "It should rise together with the reward; if only this rises, the agent exploits it.",
    ),
    "terms": Term(
        "Total of one term of the custom reward in an episode.",
        "No single term should dominate the others unintentionally.",
    ),
    "learning_curve": Term(
        "Faint: the reward of each episode; strong: the mean of the last 100. A good curve rises "
        "and stays high.",
        _enough_reward,
    ),
    "eval_reward": Term(
        "Mean return of a periodic evaluation: the policy of this step, on new seeds each time.",
        _enough_reward,
    ),
    "mean_length": Term(
        "Mean length of the last 100 episodes, in steps of the agent.", _good_length
    ),
    "episode_length": Term("Length of an episode, in steps of the agent.", _good_length),
    "success_rate": Term(
        "Fraction of the last 100 episodes that reached the goal, as the environment reports it.",
        "1 means that every episode succeeded.",
    ),
    "eval_success_rate": Term(
        "Fraction of the episodes of an evaluation that reached the goal.",
        "1 means that every episode succeeded.",
    ),
    "loss": Term(
        "The loss that the last update minimized.",
        "Steady values are fine, a sharp rise is not. A falling loss alone is no success: look at "
        "the reward.",
    ),
    "fps": Term(
        "Environment steps per second, learning included.",
        "More is faster, not better. It falls when other runs share the machine.",
    ),
    "live_feed": Term(
        "The newest policy plays its own episode here, in real time; training runs in parallel and "
        "faster.",
        "The reward is the return of this episode so far.",
    ),
    "progress": Term(
        "Share of the step budget that is used; the remaining time is estimated from the speed so "
        "far."
    ),
    "policy_loss": Term(
        "The part of the loss that improves the policy.",
        "It fluctuates around 0; its absolute value says little.",
    ),
    "value_loss": Term(
        "Mean squared error of the predicted returns.",
        "It often grows while rewards grow, and falls once they converge.",
    ),
    "entropy_loss": Term("The negative entropy of the policy."),
    "entropy": Term("How random the policy is.", _good_entropy),
    "max_entropy": Term(
        "Entropy of a uniform choice among the legal actions of the latest states.",
        "It bounds the entropy of a policy with action masks.",
    ),
    "approx_kl": Term(
        "How far one update moved the policy from the one that collected the samples.",
        "Up to about 0.03 is usual; if it is often above 0.05, the updates are too large: lower "
        "the learning rate.",
    ),
    "kl_divergence": Term(
        "How far the last update moved the policy.", "It stays below target_kl by design."
    ),
    "clip_fraction": Term(
        "Fraction of the samples on which PPO's clip range limited the update.",
        "0.05 to 0.3 is usual; near 0 updates are very small, above 0.5 too large.",
    ),
    "clip_range": Term("The clip range of the last update, following its schedule."),
    "explained_variance": Term(
        "How well the critic predicts returns: 1 is perfect, 0 no better than predicting their "
        "mean, below 0 worse than that.",
        "It should rise towards 1.",
    ),
    "std": Term(
        "Standard deviation of the actions around their mean.",
        "It shrinks as the policy converges; if it grows, ent_coef is too large.",
    ),
    "learning_rate": Term("The learning rate of the last update, following its schedule."),
    "actor_loss": Term(
        "The negative value of the policy's actions, as predicted by the critics.",
        "It falls as predicted returns rise, below 0 where rewards are positive.",
    ),
    "critic_loss": Term(
        "Mean squared error of the critics' predictions.",
        "It grows with the size of the returns; if it explodes, the learning rate is too high.",
    ),
    "ent_coef": Term(
        "The weight of the entropy bonus.", "Tuned automatically, it falls and converges."
    ),
    "ent_coef_loss": Term(
        "The loss that the tuning of ent_coef minimizes.",
        "Near 0 the policy has its target entropy.",
    ),
    "policy_objective": Term(
        "Estimated improvement of the new policy over the old one on the collected samples.",
        "It should be above 0.",
    ),
    "exploration_rate": Term(
        "Fraction of actions that are chosen at random.",
        "It decays along its schedule; until then rewards are lower than the policy could earn.",
    ),
    "grad_norm": Term(
        "Norm of the gradient before clipping.",
        "Steady is good. Above max_grad_norm every step is clipped; growing peaks mean "
        "instability.",
    ),
    "dead_units": Term(
        "Fraction of units without a gradient for any observation: ReLU at 0, tanh at its ends, "
        "ELU far below 0.",
        "0 is best; above 0.5 much of the network is unused: lower the learning rate.",
    ),
    "value_mean": Term(
        "Mean of the predicted returns.",
        "It follows the reward; far above the observed returns, values are overestimated.",
    ),
    "value_std": Term("Standard deviation of the predicted returns."),
    "value_min": Term("Lowest predicted return among the latest observations."),
    "value_max": Term("Highest predicted return among the latest observations."),
    "action_share": Term(
        "How often this action was chosen recently.",
        "If one action dominates early, exploration has ended.",
    ),
    "action_mean": Term("Recent mean of this action component."),
    "action_std": Term(
        ("Recent standard deviation of this action component."),
        "Near 0 the action is always the same.",
    ),
    "collect_s": Term("Seconds spent on collecting samples since the last update."),
    "learn_s": Term("Seconds spent on learning since the last update."),
    "return_std": Term(
        "Standard deviation of the returns of the tried directions.",
        "At 0 no direction is better than another.",
    ),
    "delta_std": Term("Standard deviation of the weight perturbations."),
    "step_size": Term("How far the last update moved the weights."),
    "compared_curves": Term(
        "Each run keeps its color. A seed group is drawn as its interquartile mean (the mean of "
        "the middle half of its seeds) with a band from three seeds on: a 95 % confidence "
        "interval, which holds the true value in 95 % of repetitions of the experiment. A seed "
        "keeps its last value up to the step that it has trained to, and to the end of the chart "
        "if it stopped because it had solved the task.",
        "Bands that don't overlap are a good sign. The line is dotted where not all seeds have a "
        "value.",
    ),
    "compared_results": Term(
        "Evaluation: of the final policy if all seeds were tested, else the last periodic one. "
        "Best and final: the highest and the last mean reward over 100 training episodes. A group "
        "has the interquartile mean over its seeds. In brackets: the 95 % interval, from three "
        "seeds or episodes on.",
        "Compare evaluations or final rewards: the highest of many means overstates the policy.",
    ),
    "across_environments": Term(
        "Entries with the same algorithm, preset and name (without environment and seed) are one "
        "method. Scores are normalized: 0 is the score of random actions, 1 the reference. IQM, "
        "median, mean, optimality gap (how far runs fall short of 1) and their 95 % intervals "
        "(percentile bootstrap over the runs of each environment, narrow if these are few) are "
        "those of rliable. A profile shows how many runs score above each value. The area under "
        "the curve is the mean normalized reward during training.",
        "Higher is better, but for the gap; a profile that is above another everywhere is better.",
    ),
    "probability_of_improvement": Term(
        "Probability that a seed of one group beats a seed of the other.",
        "50 % means no difference; an interval above 50 % favors the first. Evaluations are "
        "compared where all seeds have them, else the rewards of training.",
    ),
}
