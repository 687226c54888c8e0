import pytest

from components.base.hyperparameter_field import read_layers, read_number, read_whole, write_value
from components.base.metrics import format_number
from components.base.progress import format_seconds


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
def test_numbers_are_read_as_people_type_them(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize("text", ["0,001", "1,0", "100 000", "1,2,3", "fast", ""])
def test_what_could_mean_two_things_is_no_number(text: str) -> None:
    assert read_number(text) == text


def test_a_point_is_not_how_thousands_are_written() -> None:
    assert read_whole("100.000") == "100.000"
    assert read_whole("1.5e3") == 1_500
    assert read_whole("100,000") == 100_000


def test_defaults_are_written_as_they_are_read() -> None:
    assert read_number(write_value(3e-4)) == 3e-4
    assert write_value((64, 64)) == "64, 64"
    assert write_value(None) == ""


@pytest.mark.parametrize(
    ("layers", "text"), [([64, 32], "64, 32"), ({"pi": [64, 32], "vf": [8]}, "pi: 64, 32; vf: 8")]
)
def test_layers_are_written_as_they_are_read(layers: object, text: str) -> None:
    assert write_value(layers) == text
    assert read_layers(text) == layers


def test_nothing_measured_is_a_dash() -> None:
    assert format_number(None) == "-"
    assert format_seconds(None) == "-"


def test_numbers_keep_their_width() -> None:
    assert format_number(1234.567, 1) == "1,234.6"
    assert format_number(-0.5, 3) == "-0.500"
    assert format_number(12_345_678.0, 1) == "1.23e+07"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (61, "1 min 01 s"), (3_700, "1 h 01 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words
