"""The model card for the Hub: every number in it was measured or configured."""

import json
from dataclasses import dataclass
from typing import Any

from app.catalog.algorithms import get_algorithm
from app.evaluation import Evaluation
from app.run_config import RunConfig, config_of, environment_label
from storage.records import JsonObject, RunRecord

CURVE = "learning_curve.png"
VIDEO = "replay.mp4"
"""The file name that the Hub shows as a video on the model's page."""
NORMALIZATION = "vec_normalize.pkl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """The data of a card."""

    run: RunRecord
    repo_id: str
    model_name: str
    """The name of the model's file."""
    evaluation: Evaluation | None
    """The newest completed one; without one the card has no results."""
    has_normalization: bool
    has_video: bool
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
        f"A **{run.algorithm}** agent that plays **{environment_label(run)}**, trained for "
        f"{run.progress.timesteps:,} steps with Stable-Baselines3 in RL LAB // GYM MANAGER.\n",
        *_results(facts.evaluation),
        *(["## How it learned\n", f"![Learning curve]({CURVE})\n"] if facts.has_curve else []),
        "## Use it\n",
        _usage(facts),
        "## Hyperparameters\n",
        _table(config_of(run)),
    ]
    if facts.has_reward:
        parts.append("It was trained on a custom reward, `reward.py`.\n")
    return "\n".join(parts)


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
    if (evaluation := facts.evaluation) is not None and evaluation.mean_return is not None:
        spread = "" if evaluation.std_return is None else f" +/- {evaluation.std_return:.2f}"
        metric = {
            "type": "mean_reward",
            "value": f"{evaluation.mean_return:.2f}{spread}",
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


def _results(found: Evaluation | None) -> list[str]:
    if found is None or found.mean_return is None:
        return []
    interval = "-" if found.ci95 is None else f"{found.ci95[0]:,.2f} to {found.ci95[1]:,.2f}"
    how = "deterministic actions" if found.deterministic else "sampled actions"
    return [
        "## Results\n",
        f"| episodes | mean return | 95 % interval | median | minimum | maximum |\n"
        f"|---|---|---|---|---|---|\n"
        f"| {found.episodes} | {found.mean_return:,.2f} | {interval} "
        f"| {_number(found.median_return)} | {_number(found.min)} | {_number(found.max)} |\n",
        f"Evaluated on the seeds {found.seeds[0]} to {found.seeds[-1]}, with {how}. "
        "`results.json` has every episode.\n"
        if found.seeds
        else "",
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _usage(facts: CardFacts) -> str:
    run = facts.run
    options = "".join(f", {k}={v!r}" for k, v in config_of(run).env_kwargs.items())
    lines = [
        "import gymnasium as gym",
        f"from {get_algorithm(run.algorithm).library} import {run.algorithm}",
        "from huggingface_hub import hf_hub_download",
        f'model = {run.algorithm}.load(hf_hub_download("{facts.repo_id}", "{facts.model_name}"))',
        f"env = gym.make({run.env_id!r}{options})",
    ]
    text = "```python\n" + "\n".join(lines) + "\n```\n"
    if facts.has_normalization:
        text += (
            f"\nIt was trained on normalized observations: wrap the environment with "
            f"`VecNormalize.load` and `{NORMALIZATION}`, with `training = False`.\n"
        )
    return text


def _table(config: RunConfig) -> str:
    rows = {
        "total_timesteps": config.total_timesteps,
        "n_envs": config.n_envs,
        "seed": config.seed,
        **config.model_dump(mode="json")["hyperparameters"],
    }
    lines = [f"| `{name}` | `{json.dumps(value)}` |" for name, value in rows.items()]
    return "| name | value |\n|---|---|\n" + "\n".join(lines) + "\n"
