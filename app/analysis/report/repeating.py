"""Reproduce a run: the command and the API request."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from app.analysis.report.content import Repeat
from app.run_config import RunConfig, RunRequest, current_preset
from storage.records import JsonObject

_FIELDS = tuple(name for name in RunRequest.model_fields if name not in {"seeds", "tags", "start"})


def repeat_of(config: RunConfig) -> Repeat:
    """Return what creates a run with the same configuration, including its seed."""
    settings = {**config.model_dump(mode="json"), "preset": current_preset(config)}
    request = {name: settings[name] for name in _FIELDS if _is_set(settings.get(name))}
    return Repeat(
        command=shlex.join(["python", "main.py", "train", *_arguments(request)]),
        method="POST",
        path="/api/runs",
        body={**request, "start": True},
    )


def _is_set(value: object) -> bool:
    return value is not None and value is not False and value != {}


def _arguments(request: JsonObject) -> list[str]:
    parts = [str(request["env_id"]), "--algorithm", str(request["algorithm"])]
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
        if name in request:
            parts += [flag, str(request[name])]
    if "reward_code" in request:
        parts += ["--reward", "reward.py"]
    if request.get("stop_when_solved"):
        parts.append("--stop-when-solved")
    for name, flag in {
        "hyperparameters": "--set",
        "wrappers": "--wrapper",
        "env_kwargs": "--env-arg",
    }.items():
        for key, value in request.get(name, {}).items():
            parts += [flag, f"{key}={_typed(value)}"]
    return parts


def _typed(value: Any) -> str:  # noqa: ANN401 - a value of a configuration
    if isinstance(value, str):
        return value
    return json.dumps(dict(value) if isinstance(value, Mapping) else value)
