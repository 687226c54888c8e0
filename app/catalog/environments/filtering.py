"""Filter environments by the choices of a user."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

from app.catalog.environments.spec import Difficulty, EnvSpec

SOLVED = "yes"
UNSOLVED = "no"

_LONGEST_TEXT = 100

_READ: dict[str, Callable[[EnvSpec], str]] = {
    "family": lambda spec: spec.family,
    "actions": lambda spec: spec.action_kind.value,
    "agents": lambda spec: "single" if spec.n_agents == 1 else "several",
    "difficulty": lambda spec: spec.difficulty.value,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFilter:
    """Criteria of a list of environments; an empty field means any."""

    q: str = ""
    """Words that must all be in the id, name or family."""
    family: str = ""
    actions: str = ""
    agents: str = ""
    difficulty: str = ""
    solved: str = ""
    """`SOLVED` or `UNSOLVED`; an environment without a threshold is neither."""

    @classmethod
    def read(cls, query: Mapping[str, str], specs: Iterable[EnvSpec]) -> "EnvironmentFilter":
        """Parse the query of a URL; values that match no environment mean any."""
        known = filter_choices(specs) | {"solved": (SOLVED, UNSOLVED)}
        values = {name: query.get(name, "") for name in known}
        chosen = {name: value if value in known[name] else "" for name, value in values.items()}
        return cls(q=query.get("q", "")[:_LONGEST_TEXT], **chosen)

    @property
    def query(self) -> dict[str, str]:
        """The query of a URL with this filter."""
        return {name: value for name, value in asdict(self).items() if value}

    def fits(self, spec: EnvSpec, solved: Collection[str]) -> bool:
        """Whether `spec` matches; `solved` are the ids of solved environments."""
        known = f"{spec.id} {spec.name} {spec.family}".lower()
        return (
            all(word in known for word in self.q.lower().split())
            and all(getattr(self, name) in ("", read(spec)) for name, read in _READ.items())
            and self.solved in ("", _solved(spec, solved))
        )


def filter_choices(specs: Iterable[EnvSpec]) -> dict[str, tuple[str, ...]]:
    """Return the distinct values of each field, in order of appearance."""
    offered = list(specs)
    found = {name: tuple(dict.fromkeys(map(read, offered))) for name, read in _READ.items()}
    levels = found["difficulty"]
    return found | {"difficulty": tuple(level for level in Difficulty if level in levels)}


def _solved(spec: EnvSpec, solved: Collection[str]) -> str:
    if spec.id in solved:
        return SOLVED
    return "unknown" if spec.solved_threshold is None else UNSOLVED
