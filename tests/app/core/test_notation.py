import pytest

from app.core.notation import read_layers, read_number, read_whole, write_value
from app.protocol.schedule import Schedule, read_schedule


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("100,000", 100_000),
        ("1,234,567.5", 1_234_567.5),
        ("3e-4", 3e-4),
        ("1e6", 1_000_000),
        (" 42 ", 42),
        ("-1", -1),
    ],
)
def test_numbers_are_read_as_users_type_them(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize("text", ["0,001", "1,0", "100 000", "1,2,3", "fast", ""])
def test_ambiguous_text_is_not_a_number(text: str) -> None:
    assert read_number(text) == text


def test_a_point_is_not_a_thousands_separator() -> None:
    assert read_whole("100.000") == "100.000"
    assert read_whole("1.5e3") == 1_500
    assert read_whole("100,000") == 100_000


def test_defaults_are_written_as_they_are_read() -> None:
    assert read_number(write_value(3e-4)) == 3e-4
    assert write_value((64, 64)) == "64, 64"


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([64, 32], "64, 32"),
        ({"pi": [64, 32], "vf": [8]}, "pi: 64, 32; vf: 8"),
        ({"pi": [], "vf": [8]}, "pi: -; vf: 8"),
        ([], "none"),
    ],
)
def test_layers_are_written_as_they_are_read(layers: object, text: str) -> None:
    assert write_value(layers, nothing="none") == text
    assert read_layers(text) == layers


@pytest.mark.parametrize(
    "value", [3e-4, 1e-5, 0.1234567890123, 1e6, 100_000.5, 0.0, -2.0, 0.1 + 0.2, 100_000, 7]
)
def test_a_written_number_reads_back_as_the_same_number(value: float) -> None:
    assert read_number(write_value(value)) == value


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (((0.0, 0.001), (1.0, 0.0)), "0.001 -> 0"),
        (((0.0, 0.001), (0.5, 0.0005), (1.0, 0.0)), "0: 0.001, 0.5: 0.0005, 1: 0"),
        (((0.123456789, 0.000123456789), (1.0, 5_000.0)), "0.123456789: 0.000123456789, 1: 5000"),
    ],
)
def test_a_written_schedule_reads_back_as_the_same_schedule(
    points: tuple[tuple[float, float], ...], text: str
) -> None:
    schedule = Schedule(points)

    assert write_value(schedule) == text
    assert write_value({"points": [list(point) for point in points]}) == text
    assert read_schedule(text) == schedule


def test_missing_and_composite_values_are_written_readably() -> None:
    assert write_value(None) == "-"
    assert write_value([]) == "-"
    assert write_value({}, nothing="") == ""
    assert write_value(True) == "on"
    assert write_value(1_000_000) == "1,000,000"
    assert write_value({"gravity": [8.0, 12.5]}) == "gravity: 8, 12.5"
    assert write_value([1_024, 64]) == "1024, 64"
