"""What users set on runs at any time: name, notes, tags, archived."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from app.core import InputError
from app.run_config.request import Name, Tags

MAX_NOTES = 65_536


class RunLabels(BaseModel):
    """Labels of a run; None leaves one unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name | None = None
    notes: Annotated[StrictStr, Field(max_length=MAX_NOTES, pattern=r"^[^\x00]*$")] | None = None
    tags: Tags | None = None
    archived: StrictBool | None = None

    def columns(self) -> dict[str, Any]:
        """Return the values to store by column name.

        Raises:
            InputError: if the name is empty.
        """
        if self.name is not None and not self.name.strip():
            raise InputError("name must not be empty.", field="name")
        values = self.model_dump(include={"name", "notes", "tags", "archived"}, exclude_none=True)
        if "tags" in values:
            values["tags_json"] = list(dict.fromkeys(values.pop("tags")))
        return values
