"""Write the normalization of a stored policy as SB3's file."""

from app.protocol import Channel, commands
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, save_normalization
from app.worker.models.models import build_for_playing, load_weights


def save(job: commands.SaveNormalization, channel: Channel, weights: bytes) -> None:
    """Load a policy and send its `VecNormalize`."""
    envs = make_evaluation_envs(job.setup)
    load_weights(build_for_playing(job.setup, envs), envs, weights)
    content = save_normalization(envs)
    assert content is not None
    channel.send_file("vecnormalize.pkl", content)
