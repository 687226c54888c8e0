"""Take a picture from a worker."""

from app.protocol import messages
from app.workers.local_worker import LocalWorker, Piece, ProtocolError

_LARGEST = 4 << 20


async def receive_picture(worker: LocalWorker) -> bytes:
    """Put a picture together that a worker delivers in pieces.

    Raises:
        ProtocolError: if it delivers something else, or too much.
    """
    content = bytearray()
    while True:
        match await worker.receive():
            case Piece(header=header, content=piece):
                content += piece
                if len(content) > _LARGEST:
                    raise ProtocolError("a picture larger than any")
                if header.last:
                    return bytes(content)
            case messages.Failed(reason=reason):
                raise ProtocolError(reason)
            case other:
                raise ProtocolError(f"{type(other).__name__} instead of a picture")
