import pytest

from components.base.metrics import format_number
from components.base.progress import format_seconds


def test_a_missing_value_is_a_dash() -> None:
    assert format_number(None) == "-"
    assert format_seconds(None) == "-"


def test_numbers_have_fixed_decimals_and_large_ones_an_exponent() -> None:
    assert format_number(1234.567, 1) == "1,234.6"
    assert format_number(-0.5, 3) == "-0.500"
    assert format_number(12_345_678.0, 1) == "1.23e+07"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (61, "1 min 01 s"), (3_700, "1 h 01 min")]
)
def test_durations_are_formatted_in_readable_units(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
