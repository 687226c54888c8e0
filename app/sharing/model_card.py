"""What stands on a model's page on the Hub: everything in it was measured or asked for."""

import json
from dataclasses import dataclass
from typing import Any

from app.evaluation.evaluation import Evaluation
from storage.records.runs import JsonObject, RunRecord

CURVE = "learning_curve.png"
VIDEO = "replay.mp4"
"""The name that the Hub looks for to show a video on the model's page."""
SCALING = "vec_normalize.pkl"

_CONTRIB = ("QRDQN", "TQC", "TRPO", "RecurrentPPO", "MaskablePPO", "ARS", "CrossQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What a card speaks of."""

    run: RunRecord
    repo_id: str
    model_name: str
    """How the model's file is called."""
    evaluation: Evaluation | None
    """The newest one that is over; without one the card has no results."""
    has_scaling: bool
    has_video: bool
    has_curve: bool
    has_reward: bool


def model_file(run: RunRecord) -> str:
    """Return how the model's file is called on the Hub."""
    return f"{run.algorithm.lower()}-{run.env_id.replace('/', '-').replace(':', '-')}.zip"


def write_card(facts: CardFacts) -> str:
    """Return the card: data for the Hub on top, text for people below."""
    run = facts.run
    parts = [
        f"---\n{_yaml(_metadata(facts))}---\n",
        f"# {run.algorithm} on {run.env_id}\n",
        f"A **{run.algorithm}** agent that plays **{run.env_id}**, trained for "
        f"{run.progress.timesteps:,} steps with Stable-Baselines3 in RL LAB // GYM MANAGER.\n",
        *_results(facts.evaluation),
        *(["## How it learned\n", f"![Learning curve]({CURVE})\n"] if facts.has_curve else []),
        "## Use it\n",
        _usage(facts),
        "## Hyperparameters\n",
        _table(run.config),
    ]
    if facts.has_reward:
        parts.append("It was trained with a reward function of its own, `reward.py`.\n")
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
    if (test := facts.evaluation) is not None and test.mean_return is not None:
        spread = "" if test.std_return is None else f" +/- {test.std_return:.2f}"
        metric = {
            "type": "mean_reward",
            "value": f"{test.mean_return:.2f}{spread}",
            "name": "mean_reward",
            "verified": False,
        }
        task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
        dataset = {"name": run.env_id, "type": run.env_id}
        results = [{"task": task, "dataset": dataset, "metrics": [metric]}]
        found["model-index"] = [{"name": run.algorithm, "results": results}]
    return found


def _yaml(values: JsonObject) -> str:
    """Write JSON values, one name to a line: that is YAML, too, and quotes what needs it."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def _results(test: Evaluation | None) -> list[str]:
    if test is None or test.mean_return is None:
        return []
    interval = "-" if test.ci95 is None else f"{test.ci95[0]:,.2f} to {test.ci95[1]:,.2f}"
    how = "the likeliest action each time" if test.deterministic else "actions drawn at random"
    return [
        "## Results\n",
        f"| episodes | mean return | 95 % interval | median | least | greatest |\n"
        f"|---|---|---|---|---|---|\n"
        f"| {test.episodes} | {test.mean_return:,.2f} | {interval} | {_number(test.median_return)} "
        f"| {_number(test.min)} | {_number(test.max)} |\n",
        f"Played on the seeds {test.seeds[0]} to {test.seeds[-1]}, with {how}. "
        "`results.json` has every episode.\n"
        if test.seeds
        else "",
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def _usage(facts: CardFacts) -> str:
    run = facts.run
    library = "sb3_contrib" if run.algorithm in _CONTRIB else "stable_baselines3"
    options = "".join(f", {k}={v!r}" for k, v in run.config.get("env_kwargs", {}).items())
    lines = [
        "import gymnasium as gym",
        f"from {library} import {run.algorithm}",
        "from huggingface_hub import hf_hub_download",
        f'model = {run.algorithm}.load(hf_hub_download("{facts.repo_id}", "{facts.model_name}"))',
        f"env = gym.make({run.env_id!r}{options})",
    ]
    text = "```python\n" + "\n".join(lines) + "\n```\n"
    if facts.has_scaling:
        text += (
            f"\nIt was trained on scaled observations: put `VecNormalize.load` with `{SCALING}` "
            "around the environment, with `training = False`.\n"
        )
    return text


def _table(config: JsonObject) -> str:
    rows = {
        "total_timesteps": config.get("total_timesteps"),
        "n_envs": config.get("n_envs"),
        "seed": config.get("seed"),
        **config.get("hyperparameters", {}),
    }
    lines = [f"| `{name}` | `{json.dumps(value)}` |" for name, value in rows.items()]
    return "| name | value |\n|---|---|\n" + "\n".join(lines) + "\n"
