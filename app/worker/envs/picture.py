"""Render pictures of environments, each a little way into an episode."""

import io

from PIL import Image

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.envs.environments import make_untouched_env
from app.worker.envs.rendering import draw

_SEED = 7
_STEPS = 25


def picture(job: commands.Picture, channel: Channel) -> None:
    """Deliver one preview.png after the other."""
    for env_id in job.env_ids:
        channel.send_file("preview.png", _picture(env_id))
    channel.send(messages.Finished(reason="budget"))


def _picture(env_id: str) -> bytes:
    env = make_untouched_env(env_id)
    env.reset(seed=_SEED)
    env.action_space.seed(_SEED)
    for _ in range(_STEPS):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    buffer = io.BytesIO()
    Image.fromarray(draw(env)).save(buffer, format="PNG", optimize=True)
    env.close()
    return buffer.getvalue()
