"""What people write on runs: names, notes, tags, and that one is put away."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from app.core.errors import InputError
from app.run_config.config import Name, Tags

MAX_NOTES = 65_536


class RunLabels(BaseModel):
    """What may be written on a run at any time; None leaves it as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name | None = None
    notes: Annotated[StrictStr, Field(max_length=MAX_NOTES, pattern=r"^[^\x00]*$")] | None = None
    tags: Tags | None = None
    archived: StrictBool | None = None

    def columns(self) -> dict[str, Any]:
        """Return what is to be written, by the names of its columns.

        Raises:
            InputError: if the name is empty.
        """
        if self.name is not None and not self.name.strip():
            raise InputError("name must not be empty.", field="name")
        values = self.model_dump(include={"name", "notes", "tags", "archived"}, exclude_none=True)
        if "tags" in values:
            values["tags_json"] = list(dict.fromkeys(values.pop("tags")))
        return values
