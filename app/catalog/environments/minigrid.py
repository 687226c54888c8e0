"""MiniGrid: rooms, doors and keys; the agent sees the 7 by 7 cells in front of it."""

from app.catalog.environments.extras import MINIGRID
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed

_VIEW = 7
_OBSERVED = tuple(
    Observed(name=f"{fact} at {column + 1}, {row + 1}", low=0, high=255)
    for column in range(_VIEW)
    for row in range(_VIEW)
    for fact in ("object", "colour", "state")
)


def _room(
    env_id: str, name: str, description: str, *, max_episode_steps: int, default_timesteps: int
) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        name=name,
        family="minigrid",
        description=description,
        action_kind=ActionKind.DISCRETE,
        n_actions=7,
        action_labels=("left", "right", "forward", "pick up", "drop", "toggle", "done"),
        observed=_OBSERVED,
        observation_wrappers=(
            "minigrid.wrappers:ImgObsWrapper",
            "gymnasium.wrappers:FlattenObservation",
        ),
        reward_range=(0.0, 1.0),
        solved_threshold=None,
        max_episode_steps=max_episode_steps,
        default_timesteps=default_timesteps,
        extra=MINIGRID,
    )


EMPTY = _room(
    "MiniGrid-Empty-8x8-v0",
    "Empty room",
    "Find the way to the green square of an empty room.",
    max_episode_steps=256,
    default_timesteps=100_000,
)
DOOR_KEY = _room(
    "MiniGrid-DoorKey-5x5-v0",
    "Door and key",
    "Pick up a key, open the door and reach the green square behind it.",
    max_episode_steps=250,
    default_timesteps=200_000,
)
DOOR_KEY_8X8 = _room(
    "MiniGrid-DoorKey-8x8-v0",
    "Door and key, large",
    "Pick up a key, open the door and reach the green square, in a larger room.",
    max_episode_steps=640,
    default_timesteps=1_000_000,
)
FOUR_ROOMS = _room(
    "MiniGrid-FourRooms-v0",
    "Four rooms",
    "Find the green square somewhere in four rooms.",
    max_episode_steps=100,
    default_timesteps=2_000_000,
)
LAVA_CROSSING = _room(
    "MiniGrid-LavaCrossingS9N1-v0",
    "Lava crossing",
    "Reach the green square through the one gap in a river of lava.",
    max_episode_steps=324,
    default_timesteps=1_000_000,
)
