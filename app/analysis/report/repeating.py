"""How to train the same once more, as a command and as a call of the API."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from app.analysis.report.content import Repeat
from app.run_config.config import RunRequest
from storage.records.runs import JsonObject

_ASKED = tuple(name for name in RunRequest.model_fields if name not in {"seeds", "tags", "start"})


def how_to_repeat(config: JsonObject) -> Repeat:
    """Return what leads to the same configuration, its seed included."""
    wish = {name: config[name] for name in _ASKED if _is_said(config.get(name))}
    return Repeat(
        command=shlex.join(["python", "main.py", "train", *_arguments(wish)]),
        method="POST",
        path="/api/runs",
        body={**wish, "start": True},
    )


def _is_said(value: object) -> bool:
    return value is not None and value is not False and value != {}


def _arguments(wish: JsonObject) -> list[str]:
    found = [str(wish["env_id"]), "--algorithm", str(wish["algorithm"])]
    flags = {
        "preset": "--preset",
        "total_timesteps": "--timesteps",
        "seed": "--seed",
        "n_envs": "--n-envs",
        "evaluate_every": "--evaluate-every",
        "init_from": "--init-from",
        "engine": "--engine",
    }
    for name, flag in flags.items():
        if name in wish:
            found += [flag, str(wish[name])]
    if "reward_code" in wish:
        found += ["--reward", "reward.py"]
    if wish.get("stop_when_solved"):
        found.append("--stop-when-solved")
    for name, flag in {
        "hyperparameters": "--set",
        "wrappers": "--wrapper",
        "env_kwargs": "--env-arg",
    }.items():
        for key, value in wish.get(name, {}).items():
            found += [flag, f"{key}={_typed(value)}"]
    return found


def _typed(value: Any) -> str:  # noqa: ANN401 - a value of a configuration
    if isinstance(value, str):
        return value
    return json.dumps(dict(value) if isinstance(value, Mapping) else value)
