"""The framing of the pipe between the web process and a worker: length, tag, content.

Standard library only: `boot.py` needs it before the worker has locked itself down.
"""

import os
import struct

MAX_FRAME = 32 << 20
"""The maximum length of a frame."""

HEADER = struct.Struct("!I")

JSON = b"J"
"""A message: JSON."""
FRAME = b"F"
"""A rendered frame: header and JPEG."""
BLOB = b"B"
"""A piece of a file: header and bytes."""
WEIGHTS = b"W"
"""A policy's weights: header and bytes, which only a worker opens."""

_LENGTH = struct.Struct("!H")


def pack(tag: bytes, content: bytes) -> bytes:
    """Return one frame."""
    return HEADER.pack(len(content) + 1) + tag + content


def pack_with_header(tag: bytes, header: bytes, content: bytes) -> bytes:
    """Return one frame whose content follows a JSON header."""
    return pack(tag, _LENGTH.pack(len(header)) + header + content)


def split_header(content: bytes) -> tuple[bytes, bytes]:
    """Split content from `pack_with_header` into header and content.

    Raises:
        ValueError: if the content is shorter than it states.
    """
    if len(content) < _LENGTH.size:
        raise ValueError("a frame without a header")
    (length,) = _LENGTH.unpack_from(content)
    end = _LENGTH.size + length
    if len(content) < end:
        raise ValueError("a frame shorter than its header")
    return content[_LENGTH.size : end], content[end:]


def write(descriptor: int, frame: bytes) -> None:
    """Write all of `frame`; block until it is written."""
    view = memoryview(frame)
    while view:
        view = view[os.write(descriptor, view) :]


def read(descriptor: int) -> tuple[bytes, bytes]:
    """Read one frame and return its tag and content.

    Raises:
        EOFError: if the other end is closed.
    """
    (length,) = HEADER.unpack(_read_exactly(descriptor, HEADER.size))
    frame = _read_exactly(descriptor, length)
    return frame[:1], frame[1:]


def _read_exactly(descriptor: int, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(descriptor, count - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
