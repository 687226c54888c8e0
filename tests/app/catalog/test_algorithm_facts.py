"""Facts about algorithms are in the catalogue and nowhere else."""

import ast
from pathlib import PurePath

import pytest

from app.catalog.algorithms.catalogue import ALGORITHMS, get_algorithm
from app.catalog.algorithms.spec import Family
from app.worker.models.algorithms import ALGORITHMS as IMPLEMENTATIONS
from tests.lab_server import ROOT

_MAY_NAME_ALGORITHMS = (
    "app/catalog/algorithms/",
    "app/catalog/presets/",
    "app/worker/models/algorithms",
)
_PARTS = ("app", "components", "pages", "storage")


def names_in(path: PurePath) -> set[str]:
    """Return the algorithm ids among the string literals of a file, in any case."""
    known = {name.lower() for name in ALGORITHMS}
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    texts = [one.value for one in nodes if isinstance(one, ast.Constant)]
    return {text for text in texts if isinstance(text, str) and text.lower() in known}


def test_no_other_code_names_an_algorithm() -> None:
    paths = [path.relative_to(ROOT) for part in _PARTS for path in (ROOT / part).rglob("*.py")]
    others = [path for path in paths if not str(path).startswith(_MAY_NAME_ALGORITHMS)]

    violations = {str(path): names for path in others if (names := names_in(path))}

    assert len(others) > 300
    assert violations == {}


def test_the_worker_has_a_class_for_each_algorithm() -> None:
    assert IMPLEMENTATIONS.keys() == ALGORITHMS.keys()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_family_of_an_algorithm_is_that_of_its_class(name: str) -> None:
    bases = {base.__name__ for base in IMPLEMENTATIONS[name].sb3.__mro__}
    families = {"OnPolicyAlgorithm": Family.ROLLOUT, "OffPolicyAlgorithm": Family.REPLAY}

    expected = next((families[base] for base in bases if base in families), Family.SEARCH)

    assert get_algorithm(name).family is expected
