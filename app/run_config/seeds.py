"""One request, several seeds."""

import secrets
from collections.abc import Iterator

from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import InputError, short
from app.run_config.config import MAX_NAME, MAX_SEED, RunRequest

MAX_SEEDS = 50


def one_request_per_seed(request: RunRequest) -> Iterator[RunRequest]:
    """Yield the request of each run of a group.

    Raises:
        InputError: if `seeds` is neither a number of runs nor a list of seeds.
    """
    for seed in _seeds(request):
        title = request.name or f"{get_algorithm(request.algorithm).id} on {request.env_id}"
        name = f"{title[: MAX_NAME - 20]}, seed {seed}"
        yield request.model_copy(update={"seeds": None, "seed": seed, "name": name})


def _seeds(request: RunRequest) -> list[int]:
    match request.seeds:
        case bool():
            pass
        case int() as count if 1 <= count <= MAX_SEEDS:
            first = (
                secrets.randbelow(MAX_SEED - MAX_SEEDS) if request.seed is None else request.seed
            )
            return [min(first, MAX_SEED - count) + number for number in range(count)]
        case list() as given if _are_seeds(given):
            if request.seed is not None:
                raise InputError("seed and a list of seeds exclude each other.", field="seed")
            return given
    raise InputError(
        f"seeds must be a number from 1 to {MAX_SEEDS} or a list of different whole numbers from "
        f"0 to {MAX_SEED:,}, got {short(request.seeds)}.",
        field="seeds",
    )


def _are_seeds(given: list[object]) -> bool:
    numbers = [one for one in given if isinstance(one, int) and not isinstance(one, bool)]
    fit = all(0 <= number <= MAX_SEED for number in numbers)
    return 1 <= len(given) <= MAX_SEEDS and len(set(numbers)) == len(given) and fit
