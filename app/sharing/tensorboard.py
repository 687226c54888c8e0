"""Write a run's metrics as a TensorBoard event file, without TensorBoard.

The tags are those of Stable-Baselines3's logger where it has one, so that curves of both overlay;
a metric that only the lab has keeps its name.
"""

import struct
from collections.abc import Iterable, Iterator
from datetime import datetime

from app.protocol import protobuf as pb
from storage.records import JsonObject, unfold

_FILE_VERSION = "brain.Event:2"
_NO_SCALARS = frozenset({"n", "timesteps", "vec_steps", "updates", "episode", "eval_timesteps"})
_EVALUATION = "eval_"
_TAGS = {
    "mean_reward": "rollout/ep_rew_mean",
    "mean_length": "rollout/ep_len_mean",
    "exploration_rate": "rollout/exploration_rate",
    "return_std": "rollout/return_std",
    "eval_reward": "eval/mean_reward",
    "eval_length": "eval/mean_ep_length",
    "fps": "time/fps",
    "kl_divergence": "train/kl_divergence_loss",
    **{
        name: f"train/{name}"
        for name in (
            "actor_loss",
            "approx_kl",
            "clip_fraction",
            "clip_range",
            "critic_loss",
            "delta_std",
            "ent_coef",
            "ent_coef_loss",
            "entropy_loss",
            "explained_variance",
            "learning_rate",
            "loss",
            "policy_objective",
            "std",
            "step_size",
            "value_loss",
        )
    },
}
_LARGEST_FLOAT = 3.4e38
_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF


def event_records(
    lines: Iterable[JsonObject], *, started: float, policy_loss: str
) -> Iterator[bytes]:
    """Yield the records of an event file.

    The step of a value is the line's number of timesteps; that of an evaluation is the step of the
    policy that was evaluated, which the result reaches later. `policy_loss` is the tag under which
    SB3 logs the loss of the run's policy.
    """
    yield _record(pb.double(1, started) + pb.text(3, _FILE_VERSION))
    for line in lines:
        when = _seconds(line.get("t"), started)
        now = int(line.get("timesteps") or 0)
        evaluated = line.get("eval_timesteps")
        values: dict[int, list[bytes]] = {}
        for name, number in _scalars(line):
            is_measured_later = name.startswith(_EVALUATION)
            step = now if evaluated is None or not is_measured_later else int(evaluated)
            tag = policy_loss if name == "policy_loss" else _TAGS.get(name, name)
            values.setdefault(step, []).append(_value(tag, number))
        for step, found in values.items():
            yield _record(pb.double(1, when) + pb.whole(2, step) + pb.text(5, b"".join(found)))


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
