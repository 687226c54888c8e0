"""Expand requests to single runs: one, or with `seeds` a seed group."""

import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from uuid import uuid4

import numpy as np

from app.catalog.algorithms import get_algorithm
from app.core import InputError, shorten
from app.protocol import EVALUATION_SEEDS
from app.run_config.request import MAX_N_ENVS, MAX_NAME, MAX_SEED, RunRequest
from storage.records import RunSetKind, RunSetRecord

MAX_SEEDS = 50
_CANDIDATES = 4 * MAX_SEEDS
_BITS = 128


def each_run(
    requests: Sequence[RunRequest], owner: str | None
) -> Iterator[tuple[RunRequest, RunSetRecord | None]]:
    """Yield the request of every single run with its set, None if it is in none.

    Raises:
        InputError: if `seeds` is neither a number of runs nor a list of seeds.
    """
    for request in requests:
        if request.seeds is None:
            yield request, None
            continue
        singles = list(one_request_per_seed(request))
        run_set = RunSetRecord(
            id=uuid4().hex,
            kind=RunSetKind.SEEDS,
            name=_title(request),
            spec={"seeds": [single.seed for single in singles]},
            created_at=datetime.now(UTC),
            owner=owner,
        )
        yield from ((single, run_set) for single in singles)


def one_request_per_seed(request: RunRequest) -> Iterator[RunRequest]:
    """Yield the request of each run of a seed group.

    Raises:
        InputError: if `seeds` is neither a number of runs nor a list of seeds.
    """
    for seed in _seeds(request):
        name = f"{_title(request)}, seed {seed}"
        yield request.model_copy(update={"seeds": None, "seed": seed, "name": name})


def draw_seed() -> int:
    """Return a random seed whose environments play no episode of an evaluation."""
    return spread_seeds(secrets.randbits(_BITS), 1)[0]


def spread_seeds(seed: int, count: int) -> list[int]:
    """Return seeds that share no environment with each other or with evaluations.

    More seeds begin with the same ones.

    Stable-Baselines3 seeds parallel environment i with seed + i, so consecutive seeds would train
    on almost the same episodes and not be independent.
    """
    chosen: list[int] = []
    for one in (np.random.SeedSequence(seed).generate_state(_CANDIDATES) >> 1).tolist():
        streams = range(one, one + MAX_N_ENVS)
        is_free = not nearest_seeds([*chosen, one], MAX_N_ENVS)
        if is_free and not (streams[-1] in EVALUATION_SEEDS or one in EVALUATION_SEEDS):
            chosen.append(one)
    return chosen[:count]


def nearest_seeds(seeds: Sequence[int], n_envs: int) -> tuple[int, int] | None:
    """Return two seeds whose runs share an environment's seed, None if no two do."""
    pairs = min(pairwise(sorted(seeds)), key=lambda pair: pair[1] - pair[0], default=None)
    return None if pairs is None or pairs[1] - pairs[0] >= n_envs else pairs


def _title(request: RunRequest) -> str:
    """Return the common prefix of the names of a set's runs."""
    title = request.name or f"{get_algorithm(request.algorithm).id} on {request.env_id}"
    return title[: MAX_NAME - 20]


def _seeds(request: RunRequest) -> list[int]:
    match request.seeds:
        case bool():
            pass
        case int() as count if 1 <= count <= MAX_SEEDS:
            first = draw_seed() if request.seed is None else request.seed
            return [first] if count == 1 else spread_seeds(first, count)
        case list() as given if _are_seeds(given):
            if request.seed is not None:
                raise InputError("seed and a list of seeds exclude each other.", field="seed")
            return given
    raise InputError(
        f"seeds must be a number from 1 to {MAX_SEEDS} or a list of different whole numbers from "
        f"0 to {MAX_SEED:,}, got {shorten(request.seeds)}.",
        field="seeds",
    )


def _are_seeds(given: list[object]) -> bool:
    numbers = [one for one in given if isinstance(one, int) and not isinstance(one, bool)]
    fit = all(0 <= number <= MAX_SEED for number in numbers)
    return 1 <= len(given) <= MAX_SEEDS and len(set(numbers)) == len(given) and fit
