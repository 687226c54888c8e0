"""The classic-control family."""

from math import radians

from app.environments.spec import ActionKind, EnvSpec, Observed

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
