"""Make a small square picture of one that a stranger sent."""

import io

from PIL import Image, ImageOps

from app.protocol import commands
from app.protocol.pipe import Channel

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MOST_PIXELS = 50_000_000


def shrink(job: commands.Shrink, channel: Channel, content: bytes) -> None:
    """Deliver avatar.png: pixels only, nothing else of what the file held."""
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    with Image.open(io.BytesIO(content), formats=_FORMATS) as sent:
        upright = ImageOps.exif_transpose(sent)
        square = ImageOps.fit(upright.convert("RGB"), (job.side, job.side))
    clean = Image.new("RGB", square.size)
    clean.paste(square)
    buffer = io.BytesIO()
    clean.save(buffer, format="PNG", optimize=True)
    channel.send_file("avatar.png", buffer.getvalue())
