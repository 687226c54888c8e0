"""Render preview images of environments, each after a few steps of an episode."""

import io

from PIL import Image

from app.protocol import Channel, commands, messages
from app.worker.envs.environments import make_raw_env
from app.worker.envs.rendering import render_frame

_SEED = 7
_STEPS = 25


def render_previews(job: commands.RenderPreviews, channel: Channel) -> None:
    """Send one preview.png per environment."""
    for env_id in job.env_ids:
        channel.send_file("preview.png", _preview(env_id))
    channel.send(messages.Finished(reason="budget"))


def _preview(env_id: str) -> bytes:
    env = make_raw_env(env_id)
    env.reset(seed=_SEED)
    env.action_space.seed(_SEED)
    for _ in range(_STEPS):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    buffer = io.BytesIO()
    Image.fromarray(render_frame(env)).save(buffer, format="PNG", optimize=True)
    env.close()
    return buffer.getvalue()
