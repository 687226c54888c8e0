"""What the policy does between updates: how undecided it is, and how far each update moves it."""

import numpy as np

from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import CLIPPED, Situation

_NEARLY_EVEN = 0.9
_DECIDED = 0.05
_KL_HIGH, _KL_HARDLY, _KL_THROWN = 0.05, 1e-5, 0.5
_CLIPS_MUCH = 0.4
_NARROW = 0.05
_FEWEST_UPDATES = 8


def entropy_high(s: Situation) -> Insight | None:
    """It still chooses as if by dice."""
    most, late = s.most_entropy, s.part("entropy", 0.5)
    if most is None or len(late) < _FEWEST_UPDATES or s.share_done < 0.4:
        return None
    share, bonus = float(np.median(late)) / most, s.value("ent_coef") or 0.0
    if share < _NEARLY_EVEN or bonus < 0.03 or s.is_near_goal:
        return None
    return Insight(
        code="entropy_high",
        severity=Severity.WARNING,
        title="The policy keeps choosing at random",
        message=f"Its entropy is {share:.0%} of that of even choices (log |A| = {most:.3f}) over "
        f"the second half of the run, and ent_coef is {bonus:g}: it is paid for not deciding.",
        evidence=s.evidence(
            "entropy", since=0.5, entropy=share * most, bound=most, share=share, ent_coef=bonus
        ),
        suggestion="Lower the entropy bonus.",
        change={"hyperparameters": {"ent_coef": 0.0 if bonus < 0.1 else 0.01}},
        at=s.history.timesteps,
    )


def entropy_collapsed(s: Situation) -> Insight | None:
    """It stopped trying other actions early, without having found good ones."""
    most, early = s.most_entropy, s.part("entropy", 0.0, 0.4)
    late = s.part("entropy", 0.6)
    if most is None or min(len(early), len(late)) < 3 or s.share_done < 0.2:
        return None
    share = float(np.median(early[-3:])) / most
    if share > _DECIDED or float(np.median(late)) / most > _DECIDED or s.is_near_goal:
        return None
    bonus = s.value("ent_coef") or 0.0
    return Insight(
        code="entropy_collapsed",
        severity=Severity.WARNING,
        title="The policy stopped exploring too early",
        message=f"Its entropy fell to {share:.1%} of that of even choices (log |A| = {most:.3f}) "
        "early, before the reward was good. It tries nothing new.",
        evidence=s.evidence("entropy", entropy=share * most, bound=most, share=share),
        suggestion="Raise the entropy bonus and lower the learning rate.",
        change={
            "hyperparameters": {
                "ent_coef": max(0.01, min(1.0, 3 * bonus)),
                "learning_rate": min(s.value("learning_rate") or 3e-4, s.default("learning_rate")),
            }
        },
        at=s.history.timesteps,
    )


def policy_jumps(s: Situation) -> Insight | None:
    """Each update moves the policy so far that what was learned gets lost."""
    moved = s.part("approx_kl", 0.0)
    if s.algorithm not in CLIPPED or len(moved) < _FEWEST_UPDATES:
        return None
    share, farthest = float(np.mean(moved > _KL_HIGH)), float(moved.max())
    is_thrown = farthest > _KL_THROWN and s.does_badly
    if s.is_near_goal or (share < 0.3 and not is_thrown):
        return None
    rate = s.value("learning_rate")
    lower = min(rate / 5, s.default("learning_rate"))
    return Insight(
        code="policy_jumps",
        severity=Severity.INFO if s.has_learned else Severity.WARNING,
        title="Updates move the policy too far",
        message=f"The KL divergence per update was above {_KL_HIGH} in {share:.0%} of the updates "
        f"and {farthest:.3g} at most (0.003 to 0.03 is usual). What was learned before gets lost.",
        evidence=s.evidence("approx_kl", farthest=farthest, above=share, limit=_KL_HIGH),
        suggestion=f"Lower the learning rate of {rate:g}, or set target_kl to 0.02.",
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}},
        at=s.history.timesteps,
    )


def policy_hardly_moves(s: Situation) -> Insight | None:
    """Updates leave the policy as it was."""
    moved = s.part("approx_kl", 0.0, 0.6)
    if s.algorithm not in CLIPPED or len(moved) < _FEWEST_UPDATES or not s.does_badly:
        return None
    if s.value("clip_range") < _NARROW:
        return None  # It isn't the learning rate that holds it back.
    typical, rate = float(np.median(moved)), s.value("learning_rate")
    if float(moved.max()) > 100 * _KL_HARDLY or typical > _KL_HARDLY or s.share_done < 0.2:
        return None
    return Insight(
        code="policy_hardly_moves",
        severity=Severity.WARNING,
        title="Updates hardly change the policy",
        message=f"The KL divergence per update is {typical:.1e} (0.003 to 0.03 is usual): with a "
        f"learning rate of {rate:g} it would take very long to learn anything.",
        evidence=s.evidence("approx_kl", median=typical, usual=0.003, learning_rate=rate),
        suggestion=f"Raise the learning rate to {s.default('learning_rate'):g}.",
        change={"hyperparameters": {"learning_rate": s.default("learning_rate")}},
        at=s.history.timesteps,
    )


def updates_cut_short(s: Situation) -> Insight | None:
    """`target_kl` ends most updates before they are through."""
    done, wished = s.part("epochs", 0.0), s.value("n_epochs")
    target = s.value("target_kl")
    if not target or not wished or wished < 2 or len(done) < _FEWEST_UPDATES:
        return None
    mean, share = float(np.mean(done)), float(np.mean(done < wished))
    if mean > 0.4 * wished or s.is_near_goal:
        return None
    rate = s.value("learning_rate")
    return Insight(
        code="updates_cut_short",
        severity=Severity.WARNING,
        title="Most updates are stopped early",
        message=f"target_kl {target:g} ended {share:.0%} of the updates early: {mean:.1f} of "
        f"{wished} epochs were done on average. Collected experience is thrown away.",
        evidence=s.evidence("epochs", mean=mean, n_epochs=wished, stopped_share=share),
        suggestion="Lower the learning rate, so that updates stay within the limit, or raise "
        "target_kl to about 0.02.",
        change={"hyperparameters": {"target_kl": 0.02}}
        if target < 0.01
        else {"hyperparameters": {"learning_rate": float(f"{rate / 3:.2g}")}},
        at=s.history.timesteps,
    )


def clips_much(s: Situation) -> Insight | None:
    """A large part of the updates runs into the clip range."""
    steps, values = s.history.track("clip_fraction")
    first_half = values[steps <= 0.6 * s.history.timesteps]
    if s.algorithm not in CLIPPED or len(first_half) < _FEWEST_UPDATES or s.is_near_goal:
        return None
    typical, limit = float(np.median(first_half)), s.value("clip_range")
    if typical < _CLIPS_MUCH:
        return None
    rate = s.value("learning_rate")
    narrow = limit < _NARROW
    return Insight(
        code="clips_much",
        severity=Severity.WARNING,
        title="Most of each update is clipped away",
        message=f"{typical:.0%} of the samples run into the clip range of {limit:g} "
        "(5 to 30 % is usual). The updates want more than they are allowed.",
        evidence=s.evidence("clip_fraction", median=typical, clip_range=limit, usual=0.2),
        suggestion="Widen the clip range to 0.2."
        if narrow
        else "Lower the learning rate or the number of epochs.",
        change={"hyperparameters": {"clip_range": 0.2}}
        if narrow
        else {"hyperparameters": {"learning_rate": float(f"{rate / 3:.2g}")}},
        at=s.history.timesteps,
    )
