"""Films of all kinds of pictures, looked at as a player would."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from app.worker.envs.rendering import as_pixels
from app.worker.evaluation import mp4_writer
from app.worker.evaluation.mp4_writer import Mp4Writer


def picture(width: int, height: int, brightness: int = 200) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.full((height, width, 3), brightness, np.uint8)


def opened(content: bytes) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    container: Any = av.open(io.BytesIO(content))
    pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return container.streams.video[0], pictures


def test_a_film_is_h264_that_browsers_play() -> None:
    made = Mp4Writer(25)
    for brightness in range(0, 250, 5):
        made.add(picture(600, 400, brightness))

    stream, pictures = opened(made.finish())

    assert (stream.codec.name, stream.pix_fmt) == ("h264", "yuv420p")
    assert (stream.width, stream.height) == (600, 400)
    assert stream.average_rate == Fraction(25)
    assert stream.duration * stream.time_base == 2
    assert len(pictures) == made.pictures == 50
    assert pictures[-1].mean() > pictures[0].mean() + 200


@pytest.mark.parametrize(
    ("drawn", "filmed"),
    [
        ((161, 211), (160, 210)),
        ((1920, 1080), (1280, 720)),
        ((600, 1500), (288, 720)),
        ((3001, 100), (1280, 42)),
        ((1, 1), (2, 2)),
    ],
)
def test_sizes_are_even_and_at_most_720p(drawn: tuple[int, int], filmed: tuple[int, int]) -> None:
    made = Mp4Writer(30)
    for _ in range(3):
        made.add(picture(*drawn))

    stream, pictures = opened(made.finish())

    assert (stream.width, stream.height) == filmed
    assert len(pictures) == 3


def test_a_picture_of_another_shape_gets_bars_and_is_not_squeezed() -> None:
    made = Mp4Writer(30)
    made.add(picture(400, 200))
    made.add(picture(100, 200))

    _, (first, second) = opened(made.finish())

    assert first.shape == second.shape == (200, 400, 3)
    assert first[:, 20].mean() > 150
    assert second[:, 20].mean() < 40
    assert second[:, 200].mean() > 150


def test_a_film_can_be_entered_at_any_time() -> None:
    made = Mp4Writer(10)
    for number in range(200):
        made.add(picture(64, 64, number))

    container: Any = av.open(io.BytesIO(made.finish()))
    container.seek(10 * av.time_base)
    reached = next(container.decode(video=0))

    assert 8 <= reached.time <= 10
    assert abs(reached.to_ndarray(format="rgb24").mean() - reached.pts * reached.time_base * 10) < 6


def test_a_film_ends_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mp4_writer, "MOST_SECONDS", 2)
    made = Mp4Writer(10)
    for _ in range(20):
        made.add(picture(64, 64))
    assert not made.is_cut

    made.add(picture(64, 64))

    assert made.is_cut
    assert made.pictures == len(opened(made.finish())[1]) == 20


def test_without_pictures_there_is_no_file() -> None:
    assert Mp4Writer(30).finish() == b""


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_fractions_are_brightness(kind: type[np.floating[Any]]) -> None:
    half = as_pixels(np.full((4, 6, 3), 0.5, kind))
    large = as_pixels(np.full((4, 6, 3), 127.0, kind))

    assert half.dtype == large.dtype == np.uint8
    assert half.max() == large.max() == 127


def test_all_shapes_of_pictures_become_red_green_and_blue() -> None:
    grey = np.full((4, 6), 9, np.uint8)

    for drawn in (grey, grey[:, :, None], np.dstack([grey] * 3), np.dstack([grey] * 4)):
        assert as_pixels(drawn).shape == (4, 6, 3)
    assert as_pixels(grey > 5).max() == 255
    assert as_pixels(np.array([[np.nan, 1.0]]))[0].tolist() == [[0] * 3, [255] * 3]
    assert as_pixels(np.array([[-5, 300]])).tolist() == [[[0] * 3, [255] * 3]]


@pytest.mark.parametrize(
    "drawn", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 4, 3)), np.array([["a"]])]
)
def test_what_is_no_picture_is_refused_with_a_sentence(drawn: np.ndarray[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"render\(\) returned an array of .*not a picture\."):
        as_pixels(drawn)
