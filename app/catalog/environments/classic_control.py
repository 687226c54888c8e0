"""The classic-control family."""

from math import pi, radians

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed

CARTPOLE = EnvSpec(
    id="CartPole-v1",
    name="CartPole",
    family="classic control",
    description="Keep a pole upright by pushing its cart to the left or to the right.",
    action_kind=ActionKind.DISCRETE,
    n_actions=2,
    action_labels=("push left", "push right"),
    observed=(
        Observed(name="cart position", low=-4.8, high=4.8),
        Observed(name="cart velocity"),
        Observed(name="pole angle", low=-radians(24), high=radians(24)),
        Observed(name="pole angular velocity"),
    ),
    reward_range=(1.0, 1.0),
    solved_threshold=475.0,
    max_episode_steps=500,
    default_timesteps=100_000,
)

_CAR = (
    Observed(name="position", low=-1.2, high=0.6),
    Observed(name="velocity", low=-0.07, high=0.07),
)

MOUNTAIN_CAR = EnvSpec(
    id="MountainCar-v0",
    name="Mountain Car",
    family="classic control",
    description="Rock a weak car out of a valley. Nothing is earned before the top is reached.",
    action_kind=ActionKind.DISCRETE,
    n_actions=3,
    action_labels=("push left", "coast", "push right"),
    observed=_CAR,
    reward_range=(-1.0, -1.0),
    solved_threshold=-110.0,
    max_episode_steps=200,
    default_timesteps=300_000,
)

MOUNTAIN_CAR_CONTINUOUS = EnvSpec(
    id="MountainCarContinuous-v0",
    name="Mountain Car, continuous",
    family="classic control",
    description="Rock a weak car out of a valley with as little force as possible.",
    action_kind=ActionKind.CONTINUOUS,
    action_shape=(1,),
    action_labels=("force",),
    observed=_CAR,
    reward_range=(-0.1, 100.0),
    solved_threshold=90.0,
    max_episode_steps=999,
    default_timesteps=50_000,
)

ACROBOT = EnvSpec(
    id="Acrobot-v1",
    name="Acrobot",
    family="classic control",
    description="Swing a two-link pendulum up to a line by turning its middle joint.",
    action_kind=ActionKind.DISCRETE,
    n_actions=3,
    action_labels=("torque -1", "no torque", "torque +1"),
    observed=(
        Observed(name="cosine of joint 1", low=-1.0, high=1.0),
        Observed(name="sine of joint 1", low=-1.0, high=1.0),
        Observed(name="cosine of joint 2", low=-1.0, high=1.0),
        Observed(name="sine of joint 2", low=-1.0, high=1.0),
        Observed(name="speed of joint 1", low=-4 * pi, high=4 * pi),
        Observed(name="speed of joint 2", low=-9 * pi, high=9 * pi),
    ),
    reward_range=(-1.0, 0.0),
    solved_threshold=-100.0,
    max_episode_steps=500,
    default_timesteps=200_000,
)

PENDULUM = EnvSpec(
    id="Pendulum-v1",
    name="Pendulum",
    family="classic control",
    description="Swing a pendulum up and keep it there with a motor that is too weak.",
    action_kind=ActionKind.CONTINUOUS,
    action_shape=(1,),
    action_labels=("torque",),
    observed=(
        Observed(name="cosine of the angle", low=-1.0, high=1.0),
        Observed(name="sine of the angle", low=-1.0, high=1.0),
        Observed(name="angular speed", low=-8.0, high=8.0),
    ),
    reward_range=(-16.2736044, 0.0),
    solved_threshold=None,
    max_episode_steps=200,
    default_timesteps=50_000,
    options=(
        EnvOption(
            name="g",
            type="float",
            default=10.0,
            min=0.0,
            max=30.0,
            description="Gravity.",
        ),
    ),
)
