"""Policies that act well without training: small controllers for some environments.

They provide good episodes before anything is trained. They need not be optimal; their returns are
measured when their episodes are recorded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

Policy = Callable[[Any], Any]
"""Maps an observation to an action."""


@dataclass(frozen=True, slots=True)
class Controller:
    """A good policy for an environment."""

    make_policy: Callable[[gym.Env[Any, Any]], Policy]
    """Called after each reset."""
    origin: str
    """A description for users."""


def find_controller(env: gym.Env[Any, Any]) -> Controller | None:
    """Return the controller of an environment, if there is one."""
    assert env.spec is not None
    return _CONTROLLERS.get(env.spec.id)


def find_hover_controller(env: gym.Env[Any, Any]) -> Controller | None:
    """Return a controller that hovers instead of landing, in LunarLander."""
    assert env.spec is not None
    is_lander = env.spec.id.startswith("LunarLander")
    return Controller(_hover, "hovering over the ground") if is_lander else None


def _balance(_: gym.Env[Any, Any]) -> Policy:
    def act(obs: Any) -> int:  # noqa: ANN401 - an array
        position, speed, angle, turning = obs
        return int(angle + 0.4 * turning + 0.05 * position + 0.1 * speed > 0)

    return act


def _rock(env: gym.Env[Any, Any]) -> Policy:
    if isinstance(env.action_space, gym.spaces.Discrete):
        return lambda obs: 2 if obs[1] >= 0 else 0
    return lambda obs: np.array([1.0 if obs[1] >= 0 else -1.0], np.float32)


def _swing(env: gym.Env[Any, Any]) -> Policy:
    """Pump energy into the pendulum until it can reach the top, then balance it there."""
    world: Any = env.unwrapped
    half = 3 * world.g / (2 * world.l)

    def act(obs: Any) -> Any:  # noqa: ANN401 - an array
        cosine, sine, speed = (float(part) for part in obs)
        angle = math.atan2(sine, cosine)
        if abs(angle) < 0.5:
            torque = -12.0 * angle - 3.0 * speed
        else:
            missing = half * (1.0 - cosine) - 0.5 * speed**2
            torque = math.copysign(2.0, speed or 1.0) * (1.0 if missing > 0 else -1.0)
        return np.array([min(max(torque, -2.0), 2.0)], np.float32)

    return act


def _whip(_: gym.Env[Any, Any]) -> Policy:
    """Apply torque to the middle joint in phase with the swing of the upper link."""
    return lambda obs: 0 if obs[4] > 0 else 2


def _land(env: gym.Env[Any, Any]) -> Policy:
    return lambda obs: _to_action(env, _heuristic()(env, obs))


def _hover(env: gym.Env[Any, Any]) -> Policy:
    lower = np.array([0.0, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return lambda obs: _to_action(env, _heuristic()(env, obs - lower))


def _heuristic() -> Any:  # noqa: ANN401 - a function without types
    from gymnasium.envs.box2d import lunar_lander

    return lunar_lander.heuristic


def _walk(_: gym.Env[Any, Any]) -> Policy:
    from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics

    walker: Any = BipedalWalkerHeuristics()
    walker.a = np.zeros(4)
    return lambda obs: np.asarray(walker.step_heuristic(obs), np.float32)


def _play_optimally(env: gym.Env[Any, Any]) -> Policy:
    from app.worker.trajectories.planning import optimal_actions

    world: Any = env.unwrapped
    # Cached on the environment, whose transitions are the same in every episode.
    best = vars(world).setdefault("rl_lab_optimal_actions", None)
    if best is None:
        best = world.rl_lab_optimal_actions = optimal_actions(world)
    return lambda state: int(best[int(state)])


def _follow_grid_paths(env: gym.Env[Any, Any]) -> Policy:
    from app.worker.trajectories.planning import shortest_paths_to_best_goal

    world: Any = env.unwrapped
    moves = shortest_paths_to_best_goal(world._grid, world._ends)
    return lambda _: moves.get(world._agent, 0)


def _play_cards(env: gym.Env[Any, Any]) -> Policy:
    """Hit up to 16, with a usable ace up to 17: roughly the basic strategy."""
    from gymnasium.envs.toy_text import blackjack

    rules: Any = blackjack
    world: Any = env.unwrapped

    def act(_: Any) -> int:  # noqa: ANN401 - it reads the cards, not the observation
        dealer = world.dealer[0]
        total = rules.sum_hand(world.player)
        if rules.usable_ace(world.player):
            return int(total < 18 or (total == 18 and dealer in (1, 9, 10)))
        return int(
            total < 12
            or (total < 17 and not 2 <= dealer <= 6)
            or (total == 12 and dealer in (2, 3))
        )

    return act


def _follow_room_path(env: gym.Env[Any, Any]) -> Policy:
    from app.worker.trajectories.room_plan import shortest_path_policy

    return shortest_path_policy(env.unwrapped)


def _pull_best_arm(env: gym.Env[Any, Any]) -> Policy:
    world: Any = env.unwrapped
    return lambda _: world.best_arm


def _to_action(env: gym.Env[Any, Any], action: Any) -> Any:  # noqa: ANN401 - any action
    is_discrete = isinstance(env.action_space, gym.spaces.Discrete)
    return int(action) if is_discrete else np.asarray(action, np.float32)


_HAND_WRITTEN = "a hand-written controller"
_GYMNASIUM_HEURISTIC = "the heuristic that Gymnasium provides"
_OPTIMAL = "the optimal policy, computed from the environment's transition table"

_CONTROLLERS = {
    "CartPole-v1": Controller(_balance, _HAND_WRITTEN),
    "MountainCar-v0": Controller(_rock, _HAND_WRITTEN),
    "MountainCarContinuous-v0": Controller(_rock, _HAND_WRITTEN),
    "Pendulum-v1": Controller(_swing, _HAND_WRITTEN),
    "Acrobot-v1": Controller(_whip, _HAND_WRITTEN),
    "LunarLander-v3": Controller(_land, _GYMNASIUM_HEURISTIC),
    "LunarLanderContinuous-v3": Controller(_land, _GYMNASIUM_HEURISTIC),
    "BipedalWalker-v3": Controller(_walk, _GYMNASIUM_HEURISTIC),
    "FrozenLake-v1": Controller(_play_optimally, _OPTIMAL),
    "FrozenLake8x8-v1": Controller(_play_optimally, _OPTIMAL),
    "Taxi-v4": Controller(_play_optimally, _OPTIMAL),
    "CliffWalking-v1": Controller(_play_optimally, _OPTIMAL),
    "GridWorld-v0": Controller(_follow_grid_paths, "the shortest path to the best goal"),
    **{
        f"MiniGrid-{room}-v0": Controller(
            _follow_room_path, ("the shortest path through the rooms")
        )
        for room in ("Empty-8x8", "DoorKey-5x5", "DoorKey-8x8", "FourRooms", "LavaCrossingS9N1")
    },
    "Blackjack-v1": Controller(_play_cards, "a simplified basic strategy"),
    **{
        f"{kind}Bandit-v0": Controller(_pull_best_arm, "a policy that knows the payouts")
        for kind in ("Gaussian", "Bernoulli", "Contextual")
    },
}
