"""Videos of all kinds of frames, decoded as a player would."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from app.worker.envs.rendering import as_pixels
from app.worker.evaluation import mp4_writer
from app.worker.evaluation.mp4_writer import Mp4Writer


def image(width: int, height: int, brightness: int = 200) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.full((height, width, 3), brightness, np.uint8)


def decode(content: bytes) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    container: Any = av.open(io.BytesIO(content))
    frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return container.streams.video[0], frames


def test_a_video_is_h264_that_browsers_can_play() -> None:
    writer = Mp4Writer(25)
    for brightness in range(0, 250, 5):
        writer.add(image(600, 400, brightness))

    stream, frames = decode(writer.finish())

    assert (stream.codec.name, stream.pix_fmt) == ("h264", "yuv420p")
    assert (stream.width, stream.height) == (600, 400)
    assert stream.average_rate == Fraction(25)
    assert stream.duration * stream.time_base == 2
    assert len(frames) == writer.frame_count == 50
    assert frames[-1].mean() > frames[0].mean() + 200


@pytest.mark.parametrize(
    ("rendered", "encoded"),
    [
        ((161, 211), (160, 210)),
        ((1920, 1080), (1280, 720)),
        ((600, 1500), (288, 720)),
        ((3001, 100), (1280, 42)),
        ((1, 1), (2, 2)),
    ],
)
def test_sizes_are_even_and_at_most_720p(
    rendered: tuple[int, int], encoded: tuple[int, int]
) -> None:
    writer = Mp4Writer(30)
    for _ in range(3):
        writer.add(image(*rendered))

    stream, frames = decode(writer.finish())

    assert (stream.width, stream.height) == encoded
    assert len(frames) == 3


def test_a_frame_of_another_shape_gets_bars_and_is_not_stretched() -> None:
    writer = Mp4Writer(30)
    writer.add(image(400, 200))
    writer.add(image(100, 200))

    _, (first, second) = decode(writer.finish())

    assert first.shape == second.shape == (200, 400, 3)
    assert first[:, 20].mean() > 150
    assert second[:, 20].mean() < 40
    assert second[:, 200].mean() > 150


def test_a_video_can_be_entered_at_any_time() -> None:
    writer = Mp4Writer(10)
    for number in range(200):
        writer.add(image(64, 64, number))

    container: Any = av.open(io.BytesIO(writer.finish()))
    container.seek(10 * av.time_base)
    reached = next(container.decode(video=0))

    assert 8 <= reached.time <= 10
    assert abs(reached.to_ndarray(format="rgb24").mean() - reached.pts * reached.time_base * 10) < 6


def test_a_video_ends_at_its_maximum_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mp4_writer, "MAX_SECONDS", 2)
    writer = Mp4Writer(10)
    for _ in range(20):
        writer.add(image(64, 64))
    assert not writer.is_cut

    writer.add(image(64, 64))

    assert writer.is_cut
    assert writer.frame_count == len(decode(writer.finish())[1]) == 20


def test_without_frames_there_is_no_file() -> None:
    assert Mp4Writer(30).finish() == b""


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floating_point_images_are_scaled_to_bytes(kind: type[np.floating[Any]]) -> None:
    half = as_pixels(np.full((4, 6, 3), 0.5, kind))
    large = as_pixels(np.full((4, 6, 3), 127.0, kind))

    assert half.dtype == large.dtype == np.uint8
    assert half.max() == large.max() == 127


def test_images_of_all_shapes_become_rgb() -> None:
    grey = np.full((4, 6), 9, np.uint8)

    for rendered in (grey, grey[:, :, None], np.dstack([grey] * 3), np.dstack([grey] * 4)):
        assert as_pixels(rendered).shape == (4, 6, 3)
    assert as_pixels(grey > 5).max() == 255
    assert as_pixels(np.array([[np.nan, 1.0]]))[0].tolist() == [[0] * 3, [255] * 3]
    assert as_pixels(np.array([[-5, 300]])).tolist() == [[[0] * 3, [255] * 3]]


@pytest.mark.parametrize(
    "rendered", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((0, 4, 3)), np.array([["a"]])]
)
def test_values_that_are_no_image_are_rejected_with_a_sentence(
    rendered: np.ndarray[Any, Any],
) -> None:
    with pytest.raises(TypeError, match=r"render\(\) returned an array of .*not an image\."):
        as_pixels(rendered)
