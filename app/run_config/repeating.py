"""Ask once more for what a run was made of."""

from app.run_config.config import RunRequest
from storage.records.runs import JsonObject

_KEPT = frozenset(RunRequest.model_fields) - {"seed", "seeds", "name", "tags", "start"}


def request_like(config: JsonObject) -> RunRequest:
    """Return the request for a run like one that was made, with another seed, to begin at once."""
    kept = {name: value for name, value in config.items() if name in _KEPT}
    return RunRequest(**kept, start=True)
