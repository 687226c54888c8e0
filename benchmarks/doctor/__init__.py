"""How well does the doctor diagnose? Trainings with a known problem, in a running lab.

Each case is trained once; its metrics stay in `benchmarks/doctor/trained/`, or in the folder
`BENCH_TRAINED`, and are examined again each time. `BENCH_CASES=text` takes only cases whose name or
set contains the text.
"""

import os

from benchmarks.doctor.cases import FIRST_TRY, FOURTH_TRY, SECOND_TRY, THIRD_TRY, TUNED, Case
from benchmarks.doctor.scoring import Result, score
from benchmarks.doctor.trainings import stored_training, train_missing

_WARNINGS = ("warning", "error")
_SETS = {
    "tuned": TUNED,
    "first try": FIRST_TRY,
    "second try": SECOND_TRY,
    "third try": THIRD_TRY,
    "fourth try": FOURTH_TRY,
}


def run() -> None:
    """Train every case that is not trained yet, and print the warnings, recall and precision."""
    text = os.environ.get("BENCH_CASES", "")
    chosen = [
        (name, case)
        for name, cases in _SETS.items()
        for case in cases
        if text in f"{name}: {case.name}"
    ]
    train_missing(chosen)
    results: dict[str, list[Result]] = {name: [] for name in _SETS}
    for name, case in chosen:
        results[name].append(_judge(name, case))
    for name, found in results.items():
        _print(name, found)


def _judge(name: str, case: Case) -> Result:
    """Examine a case; of a seed group the last run, whose insights cover the whole group."""
    training = stored_training(name, case)
    assert training is not None
    warned = [one.code for one in training.insights() if one.severity in _WARNINGS]
    return Result(case, training.score, tuple(warned))


def _print(name: str, results: list[Result]) -> None:
    if not results:
        return
    print(f"\n### {name}\n")
    print("| case | trained | score | warnings | result |")
    print("|---|---|---|---|---|")
    for result in results:
        request = result.case.request
        trained = (
            f"{request['algorithm']} {request['env_id']} {request['total_timesteps'] // 1000}k"
        )
        mean = "-" if result.score is None else f"{result.score:,.1f}"
        warnings = ", ".join(result.warned) or "none"
        print(f"| {result.case.name} | {trained} | {mean} | {warnings} | {_outcome(result)} |")
    total = score(results)
    print(
        f"\nrecall {total.recall:.2f} ({total.found} of {total.broken} causes), precision "
        f"{total.precision:.2f} ({total.warnings - total.wrong} of {total.warnings} warnings), "
        f"{total.healthy_warned} of {total.healthy} healthy runs warned"
    )


def _outcome(result: Result) -> str:
    if result.wrong:
        return f"wrong: {', '.join(result.wrong)}"
    if result.case.is_healthy:
        return "healthy"
    return "found" if result.is_found else "missed"
