"""Rules about the policy: its entropy, and how far each update moves it."""

import numpy as np

from app.analysis.insights import Insight, Severity, Situation

_NEARLY_EVEN = 0.9
_COLLAPSED = 0.05
_KL_HIGH, _KL_HARDLY, _KL_EXTREME = 0.05, 1e-5, 0.5
_CLIPS_MUCH = 0.4
_NARROW = 0.05
_FEWEST_UPDATES = 8


def entropy_high(s: Situation) -> Insight | None:
    """The policy is still nearly uniform."""
    maximum, late = s.max_entropy, s.part("entropy", 0.5)
    if maximum is None or len(late) < _FEWEST_UPDATES or s.share_done < 0.4:
        return None
    share, bonus = float(np.median(late)) / maximum, s.value("ent_coef") or 0.0
    if share < _NEARLY_EVEN or bonus < 0.03 or s.does_well:
        return None
    return Insight(
        code="entropy_high",
        severity=Severity.WARNING,
        title="The policy stays nearly uniform",
        message=(
            f"Its entropy is {share:.0%} of the maximum ({_bound(s)} = {maximum:.3f}) over the "
            f"second half of the run: the entropy bonus of {bonus:g} dominates."
        ),
        evidence=s.evidence(
            "entropy",
            since=0.5,
            entropy=share * maximum,
            bound=maximum,
            share=share,
            ent_coef=bonus,
        ),
        suggestion="Lower the entropy bonus.",
        change={"hyperparameters": {"ent_coef": 0.0 if bonus < 0.1 else 0.01}},
        at=s.history.timesteps,
    )


def entropy_collapsed(s: Situation) -> Insight | None:
    """The policy stopped exploring early, before the reward was good."""
    maximum, early = s.max_entropy, s.part("entropy", 0.0, 0.4)
    late = s.part("entropy", 0.6)
    if maximum is None or min(len(early), len(late)) < 3 or s.share_done < 0.2:
        return None
    share = float(np.median(early[-3:])) / maximum
    if share > _COLLAPSED or float(np.median(late)) / maximum > _COLLAPSED or s.does_well:
        return None
    bonus = s.value("ent_coef") or 0.0
    return Insight(
        code="entropy_collapsed",
        severity=Severity.WARNING,
        title="The policy stopped exploring too early",
        message=(
            f"Its entropy fell to {share:.1%} of the maximum ({_bound(s)} = {maximum:.3f}) early, "
            "before the reward was good. It no longer explores."
        ),
        evidence=s.evidence("entropy", entropy=share * maximum, bound=maximum, share=share),
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
    """Updates move the policy so far that earlier learning is lost."""
    moved = s.part("approx_kl", 0.0)
    if not s.clips_updates or len(moved) < _FEWEST_UPDATES:
        return None
    share, farthest = float(np.mean(moved > _KL_HIGH)), float(moved.max())
    is_too_far = farthest > _KL_EXTREME and s.lacks_progress
    if s.does_well or (share < 0.3 and not is_too_far):
        return None
    rate = s.value("learning_rate")
    lower = min(rate / 5, s.default("learning_rate"))
    return Insight(
        code="policy_jumps",
        severity=Severity.INFO if s.has_learned else Severity.WARNING,
        title="Updates move the policy too far",
        message=f"The KL divergence per update was above {_KL_HIGH} in {share:.0%} of the updates "
        f"and {farthest:.3g} at most (0.003 to 0.03 is usual). Earlier learning is lost.",
        evidence=s.evidence("approx_kl", farthest=farthest, above=share, limit=_KL_HIGH),
        suggestion=f"Lower the learning rate of {rate:g}, or set target_kl to 0.02.",
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}},
        at=s.history.timesteps,
    )


def policy_hardly_moves(s: Situation) -> Insight | None:
    """Updates hardly change the policy."""
    moved = s.part("approx_kl", 0.0, 0.6)
    if not s.clips_updates or len(moved) < _FEWEST_UPDATES or not s.lacks_progress:
        return None
    if s.value("clip_range") < _NARROW:
        return None  # The clip range limits it, not the learning rate.
    typical, rate = float(np.median(moved)), s.value("learning_rate")
    if float(moved.max()) > 100 * _KL_HARDLY or typical > _KL_HARDLY or s.share_done < 0.2:
        return None
    return Insight(
        code="policy_hardly_moves",
        severity=Severity.WARNING,
        title="Updates hardly change the policy",
        message=f"The KL divergence per update is {typical:.1e} (0.003 to 0.03 is usual): with a "
        f"learning rate of {rate:g} learning would take very long.",
        evidence=s.evidence("approx_kl", median=typical, usual=0.003, learning_rate=rate),
        suggestion=f"Raise the learning rate to {s.default('learning_rate'):g}.",
        change={"hyperparameters": {"learning_rate": s.default("learning_rate")}},
        at=s.history.timesteps,
    )


def updates_cut_short(s: Situation) -> Insight | None:
    """`target_kl` ends most updates early."""
    done, n_epochs = s.part("epochs", 0.0), s.value("n_epochs")
    target = s.value("target_kl")
    if not target or not n_epochs or n_epochs < 2 or len(done) < _FEWEST_UPDATES:
        return None
    mean, share = float(np.mean(done)), float(np.mean(done < n_epochs))
    if mean > 0.4 * n_epochs or s.does_well:
        return None
    rate = s.value("learning_rate")
    return Insight(
        code="updates_cut_short",
        severity=Severity.WARNING,
        title="Most updates are stopped early",
        message=f"target_kl {target:g} ended {share:.0%} of the updates early: {mean:.1f} of "
        f"{n_epochs} epochs were done on average. Collected samples are wasted.",
        evidence=s.evidence("epochs", mean=mean, n_epochs=n_epochs, stopped_share=share),
        suggestion="Lower the learning rate, so that updates stay within the limit, or raise "
        "target_kl to about 0.02.",
        change={"hyperparameters": {"target_kl": 0.02}}
        if target < 0.01
        else {"hyperparameters": {"learning_rate": float(f"{rate / 3:.2g}")}},
        at=s.history.timesteps,
    )


def clips_much(s: Situation) -> Insight | None:
    """A large part of the samples is clipped."""
    steps, values = s.history.track("clip_fraction")
    first_half = values[steps <= 0.6 * s.history.timesteps]
    if not s.clips_updates or len(first_half) < _FEWEST_UPDATES or s.does_well:
        return None
    typical, limit = float(np.median(first_half)), s.value("clip_range")
    if typical < _CLIPS_MUCH:
        return None
    rate = s.value("learning_rate")
    narrow = limit < _NARROW
    return Insight(
        code="clips_much",
        severity=Severity.WARNING,
        title="Most of each update is clipped",
        message=f"{typical:.0%} of the samples run into the clip range of {limit:g} "
        "(5 to 30 % is usual). The updates move the policy as far as the clip range allows.",
        evidence=s.evidence("clip_fraction", median=typical, clip_range=limit, usual=0.2),
        suggestion="Widen the clip range to 0.2."
        if narrow
        else "Lower the learning rate or the number of epochs.",
        change={"hyperparameters": {"clip_range": 0.2}}
        if narrow
        else {"hyperparameters": {"learning_rate": float(f"{rate / 3:.2g}")}},
        at=s.history.timesteps,
    )


def _bound(s: Situation) -> str:
    return "legal actions: mean log |A|" if s.algorithm.masks_actions else "log |A|"
