"""Whether two runs were measured on the same task, so that their returns can be compared."""

import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from app.catalog.environments import ReferenceScore, environment_of_run
from app.core import write_value
from app.protocol import STICKY_ACTIONS, Wrappers
from app.run_config import readable_config
from storage.records import RunRecord, ScoreKind

_CODE = "code of the environment"
_OF_THE_AGENT = frozenset({"simulator", "frame_stack", "normalize_observation", "normalize_reward"})
"""Wrappers that leave returns as they are."""
_IN_OTHER_WORDS = frozenset({"randomize", "time_limit_unit"})
"""`randomize` is listed by attribute, time limits in steps of the agent."""


def task_differences(ours: RunRecord, theirs: RunRecord, kind: ScoreKind) -> list[str]:
    """Return how the tasks on which scores of a kind were measured differ, in words.

    A custom reward is no difference: returns are the environment's.
    """
    here, there = ({**_task(run, kind), **_way_to_act(run, kind)} for run in (ours, theirs))
    return _differences(here, there)


def differences_from_reference(
    run: RunRecord, kind: ScoreKind, reference: ReferenceScore
) -> list[str]:
    """Return how the task of a run differs from that of a reference score, in words."""
    return _differences(_default_task(run, reference.options), _task(run, kind))


def has_default_task(run: RunRecord, kind: ScoreKind) -> bool:
    """Whether the task of a run is its environment as it is."""
    return not _differences(_default_task(run, {}), _task(run, kind))


def _differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    if not here or not there:
        return []
    pairs = ((name, here.get(name), there.get(name)) for name in dict.fromkeys([*here, *there]))
    return [
        f"{name} {_words(one)} and {_words(other)}" for name, one, other in pairs if one != other
    ]


def _default_task(run: RunRecord, options: Mapping[str, Any]) -> dict[str, Any]:
    return {**_wrapper_options(Wrappers()), **_all_options(run, options), _CODE: None}


def _task(run: RunRecord, kind: ScoreKind) -> dict[str, Any]:
    """Return what defines the task of a run; nothing if its configuration can't be read."""
    config = readable_config(run)
    if config is None:
        return {}
    has_disturbances = kind is ScoreKind.TRAINING_MEAN or (
        kind is ScoreKind.LAST_EVALUATION and config.evaluation.disturbances
    )
    wrappers = config.wrappers if has_disturbances else config.wrappers.for_evaluation()
    limit = config.step_limit
    return {
        **_wrapper_options(wrappers),
        "time_limit": None if limit == config.usual_step_limit else limit,
        **_all_options(run, config.env_kwargs),
        _CODE: _checksum(config.env_code),
    }


def _way_to_act(run: RunRecord, kind: ScoreKind) -> dict[str, Any]:
    """Return how policies acted where runs could choose: final evaluations are deterministic."""
    config = readable_config(run)
    if config is None or kind is not ScoreKind.LAST_EVALUATION:
        return {}
    return {"deterministic evaluations": config.evaluation.deterministic}


def _all_options(run: RunRecord, given: Mapping[str, Any]) -> dict[str, Any]:
    found = {**environment_of_run(run.env_id).check_kwargs({}), **given}
    if "repeat_action_probability" in found and found["repeat_action_probability"] is None:
        found["repeat_action_probability"] = STICKY_ACTIONS.get(found.get("protocol", ""))
    return found


def _wrapper_options(wrappers: Wrappers) -> dict[str, Any]:
    found = {
        field.name: getattr(wrappers, field.name)
        for field in fields(Wrappers)
        if field.name not in _OF_THE_AGENT | _IN_OTHER_WORDS
    }
    return found | {f"randomize {name}": bounds for name, bounds in wrappers.randomize.items()}


def _checksum(code: str | None) -> str | None:
    return None if code is None else f"{zlib.crc32(code.encode()):08x}"


def _words(value: object) -> str:
    return write_value(value, nothing="none")
