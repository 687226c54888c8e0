"""Write a run's metrics as a TensorBoard event file, without TensorBoard."""

import struct
from collections.abc import Iterable, Iterator
from datetime import datetime

from app.protocol import protobuf as pb
from storage.records import JsonObject, unfold

_FILE_VERSION = "brain.Event:2"
_NO_SCALARS = frozenset({"n", "timesteps", "vec_steps", "updates", "episode"})
_LARGEST_FLOAT = 3.4e38
_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF


def event_records(lines: Iterable[JsonObject], *, started: float) -> Iterator[bytes]:
    """Yield the records of an event file: one per line of metrics, with its timesteps as step."""
    yield _record(pb.double(1, started) + pb.text(3, _FILE_VERSION))
    for line in lines:
        values = b"".join(_value(name, number) for name, number in _scalars(line))
        if values:
            when = _seconds(line.get("t"), started)
            step = pb.whole(2, int(line.get("timesteps") or 0))
            yield _record(pb.double(1, when) + step + pb.text(5, values))


def _scalars(line: JsonObject) -> Iterator[tuple[str, float]]:
    for name, value in unfold(line).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and name not in _NO_SCALARS and abs(value) < _LARGEST_FLOAT:
            yield name, float(value)


def _value(tag: str, value: float) -> bytes:
    return pb.message(1, (pb.text(1, tag), pb.single(2, value)))


def _seconds(timestamp: object, default: float) -> float:
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except (ValueError, OverflowError):
        return default


def _record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    checks = struct.pack("<I", _masked_crc(length)), struct.pack("<I", _masked_crc(content))
    return length + checks[0] + content + checks[1]


def _masked_crc(content: bytes) -> int:
    """Return the masked CRC-32C (Castagnoli) of the TFRecord format: rotated, plus a constant."""
    crc = _ALL
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= _ALL
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & _ALL


def _entry(index: int) -> int:
    for _ in range(8):
        index = index >> 1 ^ (_POLYNOMIAL if index & 1 else 0)
    return index


_TABLE = tuple(_entry(index) for index in range(256))
