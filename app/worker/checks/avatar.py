"""Make a small square image from an untrusted one."""

import io

from PIL import Image, ImageOps

from app.protocol import Channel, commands

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_MAX_PIXELS = 50_000_000


def shrink(job: commands.Shrink, channel: Channel, content: bytes) -> None:
    """Deliver avatar.png, which has the pixels but none of the file's other data."""
    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    with Image.open(io.BytesIO(content), formats=_FORMATS) as uploaded:
        upright = ImageOps.exif_transpose(uploaded)
        square = ImageOps.fit(upright.convert("RGB"), (job.side, job.side))
    clean = Image.new("RGB", square.size)
    clean.paste(square)
    buffer = io.BytesIO()
    clean.save(buffer, format="PNG", optimize=True)
    channel.send_file("avatar.png", buffer.getvalue())
