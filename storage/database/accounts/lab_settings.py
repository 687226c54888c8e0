"""What administrators set for the whole lab, by name."""

from typing import Any

from storage.database.tables.accounts import LabSettingRow


def read_lab_settings() -> dict[str, Any]:
    """Return everything that was set."""
    return {row.name: row.value for row in LabSettingRow.select()}


def save_lab_setting(name: str, value: object) -> None:
    """Set one value; the earlier one is forgotten."""
    row = LabSettingRow(name=name, value=value)
    exists = LabSettingRow.select().where(LabSettingRow.name == name).exists()
    row.save(force_insert=not exists)
