"""What an address such as `/train?env=CartPole-v1&preset=fast` asks the form for."""

from dataclasses import dataclass
from typing import Self

from app.catalog.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.catalog.environments.catalogue import get_environment
from app.catalog.environments.spec import EnvSpec
from app.catalog.presets.spec import PresetName
from app.core.errors import InputError, short


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    """Choices to begin with; None leaves one as it is."""

    environment: EnvSpec | None = None
    algorithm: str | None = None
    preset: PresetName | None = None
    problems: tuple[str, ...] = ()
    """What was asked for and can't be, a sentence each."""

    @classmethod
    def read(cls, env: str, algorithm: str, preset: str) -> Self:
        """Read the parts of an address; what makes no sense is left out and said."""
        problems: list[str] = []
        environment = None
        try:
            environment = get_environment(env) if env else None
            if environment is not None:
                environment.check_installed()
        except InputError as error:
            environment = None
            problems.append(str(error))
        algorithms = {known.lower(): known for known in ALGORITHMS}
        if algorithm and algorithm.lower() not in algorithms:
            problems.append(f"Unknown algorithm {short(algorithm)}. It was left as it is.")
        names = {name.value: name for name in PresetName}
        wanted = preset.lower().replace(" ", "_").replace("-", "_")
        if preset and wanted not in names:
            known = ", ".join(names)
            problems.append(f"Unknown preset {short(preset)}. There are {known}.")
        return cls(
            environment=environment,
            algorithm=algorithms.get(algorithm.lower()),
            preset=names.get(wanted),
            problems=tuple(problems),
        )
