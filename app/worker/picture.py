"""Render one picture of an environment, a little way into an episode."""

import io

from PIL import Image

from app.worker import messages
from app.worker.channel import Channel
from app.worker.rendering import draw, make_drawn_env

_SEED = 7
_STEPS = 25


def picture(job: messages.Picture, channel: Channel) -> None:
    """Deliver the picture as preview.png."""
    env = make_drawn_env(job.env_id)
    env.reset(seed=_SEED)
    env.action_space.seed(_SEED)
    for _ in range(_STEPS):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    buffer = io.BytesIO()
    Image.fromarray(draw(env)).save(buffer, format="PNG", optimize=True)
    env.close()
    channel.send_file("preview.png", buffer.getvalue())
    channel.send(messages.Finished(reason="budget"))
