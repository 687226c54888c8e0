"""Write Protocol Buffers without a compiler: the two formats have only a dozen fields."""

import struct
from collections.abc import Iterable

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


def whole(number: int, value: int) -> bytes:
    """Return an integer field."""
    return _varint(number << 3 | _VARINT) + _varint(value & (1 << 64) - 1)


def text(number: int, value: str | bytes) -> bytes:
    """Return a length-delimited field: text, bytes, or a message."""
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def message(number: int, parts: Iterable[bytes]) -> bytes:
    """Return a field with a nested message of these fields."""
    return text(number, b"".join(parts))


def single(number: int, value: float) -> bytes:
    """Return a 32-bit float field."""
    return _varint(number << 3 | _FIXED32) + struct.pack("<f", value)


def double(number: int, value: float) -> bytes:
    """Return a 64-bit float field."""
    return _varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
