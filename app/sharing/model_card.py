"""The model card for the Hub: every number in it was measured or configured."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.catalog.algorithms import get_algorithm
from app.evaluation import Evaluation
from app.protocol import Wrappers
from app.run_config import RunConfig, environment_label
from app.sharing.published_version import PublishedVersion
from app.sharing.usage_snippet import Uploaded, needs_the_lab, usage_snippet
from storage.records import JsonObject, RunRecord

CURVE = "learning_curve.png"
VIDEO = "replay.mp4"
"""The file name that the Hub shows as a video on the model's page."""
NORMALIZATION = "vec_normalize.pkl"

_LAB = "RL LAB // GYM MANAGER"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """The data of a card."""

    run: RunRecord
    config: RunConfig
    published: PublishedVersion
    repo_id: str
    model_name: str
    """The name of the model's file."""
    has_curve: bool
    has_reward: bool


def model_file(run: RunRecord) -> str:
    """Return the name of the model's file on the Hub."""
    return f"{run.algorithm.lower()}-{run.env_id.replace('/', '-').replace(':', '-')}.zip"


def write_card(facts: CardFacts) -> str:
    """Return the card: metadata for the Hub on top, text for users below."""
    run = facts.run
    parts = [
        f"---\n{_yaml(_metadata(facts))}---\n",
        f"# {run.algorithm} on {environment_label(run)}\n",
        _introduction(facts),
        "## Results\n",
        *_results(facts.published),
        *(["## Training\n", f"![Learning curve]({CURVE})\n"] if facts.has_curve else []),
        "## Use it\n",
        _usage(facts),
        "## Hyperparameters\n",
        _table(facts),
    ]
    if facts.has_reward:
        parts.append("It was trained on a custom reward, `reward.py`.\n")
    return "\n".join(parts)


def _introduction(facts: CardFacts) -> str:
    run = facts.run
    agent = f"A **{run.algorithm}** agent for **{run.env_id}**: {_version(facts)} "
    return f"{agent}{_trained_by(facts.config)}\n"


def _version(facts: CardFacts) -> str:
    """Say which policy of the run it is."""
    name, published = _code(facts.run.name), facts.published
    step = "unknown" if published.timesteps is None else f"{published.timesteps:,}"
    if facts.config.origin is not None:
        return f"run {name}, {step} training steps according to its file."
    match published.version.kind:
        case "final":
            return f"the final policy of the run {name}, after {step} training steps."
        case "best":
            chosen = published.selection
            n = "the" if chosen is None else f"{chosen.evaluations:,}"
            return (
                f"the policy of step {step} of the run {name}, chosen as the best of {n} periodic "
                "evaluations."
            )
        case "checkpoint":
            return f"the checkpoint of step {step} of the run {name}."


def _trained_by(config: RunConfig) -> str:
    if (origin := config.origin) is not None:
        return (
            f"It was not trained in this lab: {_LAB} pulled {_code(origin.file)} from "
            f"{_code(origin.source)}."
        )
    if config.engine_used == "fast":
        return (
            f"{_LAB} trained it with its fast engine, which computes the updates of "
            f"Stable-Baselines3's {config.algorithm} in NumPy; the file is one of "
            "Stable-Baselines3."
        )
    library = _LIBRARY_NAMES[get_algorithm(config.algorithm).library]
    return f"{_LAB} trained it with {library}."


_LIBRARY_NAMES = {
    "stable_baselines3": "Stable-Baselines3",
    "sb3_contrib": "Stable-Baselines3 Contrib",
}


def _metadata(facts: CardFacts) -> JsonObject:
    run = facts.run
    found: dict[str, Any] = {
        "library_name": "stable-baselines3",
        "pipeline_tag": "reinforcement-learning",
        "tags": [
            run.env_id,
            "deep-reinforcement-learning",
            "reinforcement-learning",
            "stable-baselines3",
            "rl-lab",
        ],
    }
    if (evaluation := facts.published.evaluation) is not None:
        metric = {
            "type": "mean_reward",
            "value": f"{np.mean(evaluation.returns):.2f} +/- {np.std(evaluation.returns):.2f}",
            "name": "mean_reward",
            "verified": False,
        }
        task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
        dataset = {"name": run.env_id, "type": run.env_id}
        results = [{"task": task, "dataset": dataset, "metrics": [metric]}]
        found["model-index"] = [{"name": run.algorithm, "results": results}]
    return found


def _yaml(values: JsonObject) -> str:
    """Write one JSON value per line; JSON is valid YAML and quotes where needed."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def _results(published: PublishedVersion) -> Iterator[str]:
    if published.evaluation is None:
        yield _no_results(published)
    else:
        yield _numbers(published.evaluation)
        yield _conditions(published, published.evaluation)
    if (chosen := published.selection) is not None:
        yield (
            f"The policy was chosen because its mean return of {chosen.mean_return:,.2f} was the "
            f"best of {chosen.evaluations:,} periodic evaluations during training. That number "
            "overstates what it reaches on other seeds, because the best of several noisy "
            "measurements is usually a lucky one.\n"
        )


def _no_results(published: PublishedVersion) -> str:
    if published.selection is not None:
        return "No evaluation of this policy exists but the one for which it was chosen.\n"
    text = "No evaluation of this policy exists."
    if published.training_mean is not None:
        text += (
            f" The mean return of the last training episodes (at most 100) before its step was "
            f"{published.training_mean:,.2f}. That is a training mean: earlier policies played "
            "these episodes, with exploration and with all disturbances of training."
        )
    return text + "\n"


def _numbers(found: Evaluation) -> str:
    interval = "-" if found.ci95 is None else f"{found.ci95[0]:,.2f} to {found.ci95[1]:,.2f}"
    values = (
        f"{found.episodes:,}",
        _number(found.mean_return),
        _number(float(np.std(found.returns))),
        interval,
        *map(_number, (found.median_return, found.min, found.max)),
    )
    return (
        "| episodes | mean return | standard deviation | 95 % interval of the mean | median "
        f"| minimum | maximum |\n|---|---|---|---|---|---|---|\n| {' | '.join(values)} |\n"
    )


def _conditions(published: PublishedVersion, found: Evaluation) -> str:
    """Say which policy was evaluated, and how."""
    actions = "deterministic" if found.deterministic else "sampled"
    lines = [
        f"An evaluation of the uploaded policy (step {published.timesteps:,}) with {actions} "
        f"actions on {_seeds(found)}."
    ]
    if found.left_out:
        lines.append(f"These disturbances of training were off: {', '.join(found.left_out)}.")
    if found.disturbances:
        lines.append(f"These disturbances of training were on: {', '.join(found.disturbances)}.")
    if found.cut:
        lines.append(f"{found.cut:,} episodes were cut at step {found.step_limit or 0:,}.")
    if found.successes is not None:
        lines.append(f"{found.successes:,} of {found.episodes:,} episodes reached the goal.")
    lines.append(
        "The standard deviation of the returns divides by n, as Stable-Baselines3's "
        "`evaluate_policy` does. `results.json` has every episode; its `std_return` divides by "
        "n - 1."
    )
    return " ".join(lines) + "\n"


def _seeds(found: Evaluation) -> str:
    if not found.seeds:
        return "unknown seeds"
    family = found.seed_family
    kinds = {
        "selection": " (the seeds on which periodic evaluations choose the best policy)",
        "test": " (reserved for tests)",
        "final": " (reserved for final evaluations)",
    }
    return f"the seeds {min(found.seeds)} to {max(found.seeds)}{kinds.get(family or '', '')}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _usage(facts: CardFacts) -> str:
    config = facts.config
    is_normalized = config.wrappers.normalize_observation
    uploaded = Uploaded(
        repo_id=facts.repo_id,
        model=facts.model_name,
        normalization=NORMALIZATION if is_normalized else None,
    )
    text = "This plays one episode like an evaluation of the lab on the same seed:\n\n"
    if needs_the_lab(config):
        text = (
            f"{config.env_id} is an environment of {_LAB}, so run this in the lab's folder. It "
            "plays one episode like an evaluation of the lab on the same seed:\n\n"
        )
    return f"{text}```python\n{usage_snippet(config, uploaded)}```\n"


def _table(facts: CardFacts) -> str:
    lines = [f"| `{name}` | {value} |" for name, value in _rows(facts)]
    return "| name | value |\n|---|---|\n" + "\n".join(lines) + "\n"


def _rows(facts: CardFacts) -> Iterator[tuple[str, str]]:
    config = facts.config
    unknown = set(config.origin.unknown) if config.origin else set()
    for name, value in _settings(config):
        yield name, "unknown" if name in unknown else _json(value)
    yield from _changes(facts)
    for name, version in facts.published.versions.items():
        yield f"version of {name}", version


def _settings(config: RunConfig) -> Iterator[tuple[str, Any]]:
    """Yield every value that differs from run to run; optional ones only if they are set."""
    values = config.model_dump(mode="json")
    yield from ((name, values[name]) for name in ("total_timesteps", "n_envs", "seed"))
    yield from values["hyperparameters"].items()
    yield from (
        (name, values[name]) for name in ("preset", "init_from") if values[name] is not None
    )
    yield from ((f"env_kwargs.{name}", value) for name, value in values["env_kwargs"].items())
    off = Wrappers()
    for name, value in values["wrappers"].items():
        if getattr(config.wrappers, name) != getattr(off, name):
            yield f"wrappers.{name}", value
    if config.origin is None:
        yield "engine", config.engine_used


def _changes(facts: CardFacts) -> Iterator[tuple[str, str]]:
    """Yield the live changes that the published policy was trained with."""
    step = facts.published.timesteps
    for change in facts.config.changes:
        if step is None or change.timesteps <= step:
            for name, value in change.values.items():
                yield f"{name} from step {change.timesteps:,}", _json(_plain(value))


def _plain(value: object) -> object:
    return getattr(value, "points", value)


def _json(value: object) -> str:
    return _code(json.dumps(value))


def _code(text: str) -> str:
    """Return text as code, which neither ends the code nor the cell of a table."""
    return "`" + text.replace("`", "'").replace("|", "/").replace("\n", " ") + "`"
