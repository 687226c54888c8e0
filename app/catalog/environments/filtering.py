"""Which environments a person asks to see."""

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
    """What a grid of environments is narrowed down to; an empty field means any."""

    q: str = ""
    """Words that all have to be in the id, the name or the family."""
    family: str = ""
    actions: str = ""
    agents: str = ""
    difficulty: str = ""
    solved: str = ""
    """`SOLVED` or `UNSOLVED`; what has no threshold is neither."""

    @classmethod
    def read(cls, query: Mapping[str, str], specs: Iterable[EnvSpec]) -> "EnvironmentFilter":
        """Read what an address asks for; what no environment could fit means any."""
        known = choices(specs) | {"solved": (SOLVED, UNSOLVED)}
        values = {name: query.get(name, "") for name in known}
        chosen = {name: value if value in known[name] else "" for name, value in values.items()}
        return cls(q=query.get("q", "")[:_LONGEST_TEXT], **chosen)

    @property
    def query(self) -> dict[str, str]:
        """What an address says to ask for the same."""
        return {name: value for name, value in asdict(self).items() if value}

    def fits(self, spec: EnvSpec, solved: Collection[str]) -> bool:
        """Whether `spec` is to be seen; `solved` are the ids of those that were solved."""
        known = f"{spec.id} {spec.name} {spec.family}".lower()
        return (
            all(word in known for word in self.q.lower().split())
            and all(getattr(self, name) in ("", read(spec)) for name, read in _READ.items())
            and self.solved in ("", _solved(spec, solved))
        )


def choices(specs: Iterable[EnvSpec]) -> dict[str, tuple[str, ...]]:
    """Return the values that each field can tell apart, in the order in which they are met."""
    offered = list(specs)
    found = {name: tuple(dict.fromkeys(map(read, offered))) for name, read in _READ.items()}
    levels = found["difficulty"]
    return found | {"difficulty": tuple(level for level in Difficulty if level in levels)}


def _solved(spec: EnvSpec, solved: Collection[str]) -> str:
    if spec.id in solved:
        return SOLVED
    return "unknown" if spec.solved_threshold is None else UNSOLVED
