"""The form values in an address such as `/train?env=CartPole-v1&preset=fast`."""

from dataclasses import dataclass
from typing import Self

from app.catalog.algorithms import ALGORITHMS
from app.catalog.environments import EnvSpec, get_environment
from app.catalog.presets import PresetName
from app.core import InputError, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    """Initial choices of the form; None leaves a field unchanged."""

    environment: EnvSpec | None = None
    algorithm: str | None = None
    preset: PresetName | None = None
    problems: tuple[str, ...] = ()
    """One sentence for each part that could not be applied."""

    @classmethod
    def read(cls, env: str, algorithm: str, preset: str) -> Self:
        """Parse the parts of an address; skip invalid ones and add them to `problems`."""
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
            problems.append(f"Unknown algorithm {shorten(algorithm)}. The field was not changed.")
        names = {name.value: name for name in PresetName}
        wanted = preset.lower().replace(" ", "_").replace("-", "_")
        if preset and wanted not in names:
            known = ", ".join(names)
            problems.append(f"Unknown preset {shorten(preset)}. Choose one of: {known}.")
        return cls(
            environment=environment,
            algorithm=algorithms.get(algorithm.lower()),
            preset=names.get(wanted),
            problems=tuple(problems),
        )
