"""Settings of the lab that administrators change, by name."""

from typing import Any

from storage.database.tables import LabSettingRow


def read_lab_settings() -> dict[str, Any]:
    """Return all settings that were changed."""
    return {row.name: row.value for row in LabSettingRow.select()}


def save_lab_setting(name: str, value: object) -> None:
    """Store one setting, replacing its earlier value."""
    row = LabSettingRow(name=name, value=value)
    exists = LabSettingRow.select().where(LabSettingRow.name == name).exists()
    row.save(force_insert=not exists)
