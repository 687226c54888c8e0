"""Ways to act well without having learned: small controllers for environments one can reason about.

They show what good episodes look like before anything was trained. None of them is the best there
is; what each is worth is measured when its episodes are recorded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

Acts = Callable[[Any], Any]
"""Takes an observation and returns an action."""


@dataclass(frozen=True, slots=True)
class Controller:
    """Who acts well in an environment."""

    begin: Callable[[gym.Env[Any, Any]], Acts]
    """Called after each reset."""
    origin: str
    """What it is, in words for people."""


def find_controller(env: gym.Env[Any, Any]) -> Controller | None:
    """Return who acts well in an environment, if anybody is known."""
    assert env.spec is not None
    return _CONTROLLERS.get(env.spec.id)


def find_hovering(env: gym.Env[Any, Any]) -> Controller | None:
    """Return who stays in the air for ever where one is meant to land."""
    assert env.spec is not None
    is_lander = env.spec.id.startswith("LunarLander")
    return Controller(_hover, "hovering over the ground") if is_lander else None


def _balance(_: gym.Env[Any, Any]) -> Acts:
    def act(seen: Any) -> int:  # noqa: ANN401 - an array
        position, speed, angle, turning = seen
        return int(angle + 0.4 * turning + 0.05 * position + 0.1 * speed > 0)

    return act


def _rock(env: gym.Env[Any, Any]) -> Acts:
    if isinstance(env.action_space, gym.spaces.Discrete):
        return lambda seen: 2 if seen[1] >= 0 else 0
    return lambda seen: np.array([1.0 if seen[1] >= 0 else -1.0], np.float32)


def _swing(env: gym.Env[Any, Any]) -> Acts:
    """Pump energy into the pendulum until it can reach the top, then hold it there."""
    world: Any = env.unwrapped
    half = 3 * world.g / (2 * world.l)

    def act(seen: Any) -> Any:  # noqa: ANN401 - an array
        cosine, sine, speed = (float(part) for part in seen)
        angle = math.atan2(sine, cosine)
        if abs(angle) < 0.5:
            torque = -12.0 * angle - 3.0 * speed
        else:
            missing = half * (1.0 - cosine) - 0.5 * speed**2
            torque = math.copysign(2.0, speed or 1.0) * (1.0 if missing > 0 else -1.0)
        return np.array([min(max(torque, -2.0), 2.0)], np.float32)

    return act


def _whip(_: gym.Env[Any, Any]) -> Acts:
    """Bend the acrobot's middle with the swing of its upper arm."""
    return lambda seen: 0 if seen[4] > 0 else 2


def _land(env: gym.Env[Any, Any]) -> Acts:
    return lambda seen: _for(env, _heuristic()(env, seen))


def _hover(env: gym.Env[Any, Any]) -> Acts:
    lower = np.array([0.0, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    return lambda seen: _for(env, _heuristic()(env, seen - lower))


def _heuristic() -> Any:  # noqa: ANN401 - a function without types
    from gymnasium.envs.box2d import lunar_lander

    return lunar_lander.heuristic


def _walk(_: gym.Env[Any, Any]) -> Acts:
    from gymnasium.envs.box2d.bipedal_walker import BipedalWalkerHeuristics

    walker: Any = BipedalWalkerHeuristics()
    walker.a = np.zeros(4)
    return lambda seen: np.asarray(walker.step_heuristic(seen), np.float32)


def _plan(env: gym.Env[Any, Any]) -> Acts:
    from app.worker.trajectories.planning import best_actions

    world: Any = env.unwrapped
    # Kept with the world, which is the same in every episode.
    best = vars(world).setdefault("best_actions_of_the_lab", None)
    if best is None:
        best = world.best_actions_of_the_lab = best_actions(world)
    return lambda state: int(best[int(state)])


def _walk_the_grid(env: gym.Env[Any, Any]) -> Acts:
    from app.worker.trajectories.planning import ways_to_the_best_end

    world: Any = env.unwrapped
    moves = ways_to_the_best_end(world._grid, world._ends)
    return lambda _: moves.get(world._agent, 0)


def _play_cards(env: gym.Env[Any, Any]) -> Acts:
    """Hit up to 16, with a usable ace up to 17, as good tables say, roughly."""
    from gymnasium.envs.toy_text import blackjack

    rules: Any = blackjack
    world: Any = env.unwrapped

    def act(_: Any) -> int:  # noqa: ANN401 - the cards are looked at, not what is seen of them
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


def _walk_through_rooms(env: gym.Env[Any, Any]) -> Acts:
    from app.worker.trajectories.room_plan import through_rooms

    return through_rooms(env.unwrapped)


def _pull_the_best(env: gym.Env[Any, Any]) -> Acts:
    world: Any = env.unwrapped
    return lambda _: world.best_lever


def _for(env: gym.Env[Any, Any], action: Any) -> Any:  # noqa: ANN401 - whatever it takes
    is_discrete = isinstance(env.action_space, gym.spaces.Discrete)
    return int(action) if is_discrete else np.asarray(action, np.float32)


_OWN = "a small controller written for it"
_SHIPPED = "the heuristic that Gymnasium ships with it"
_WORKED_OUT = "the best plan, worked out from the world's own table of transitions"

_CONTROLLERS = {
    "CartPole-v1": Controller(_balance, _OWN),
    "MountainCar-v0": Controller(_rock, _OWN),
    "MountainCarContinuous-v0": Controller(_rock, _OWN),
    "Pendulum-v1": Controller(_swing, _OWN),
    "Acrobot-v1": Controller(_whip, _OWN),
    "LunarLander-v3": Controller(_land, _SHIPPED),
    "LunarLanderContinuous-v3": Controller(_land, _SHIPPED),
    "BipedalWalker-v3": Controller(_walk, _SHIPPED),
    "FrozenLake-v1": Controller(_plan, _WORKED_OUT),
    "FrozenLake8x8-v1": Controller(_plan, _WORKED_OUT),
    "Taxi-v4": Controller(_plan, _WORKED_OUT),
    "CliffWalking-v1": Controller(_plan, _WORKED_OUT),
    "GridWorld-v0": Controller(_walk_the_grid, "the shortest way to the best end"),
    **{
        f"MiniGrid-{room}-v0": Controller(_walk_through_rooms, "the shortest way through the rooms")
        for room in ("Empty-8x8", "DoorKey-5x5", "DoorKey-8x8", "FourRooms", "LavaCrossingS9N1")
    },
    "Blackjack-v1": Controller(_play_cards, "a short version of what good tables say"),
    **{
        f"{kind}Bandit-v0": Controller(_pull_the_best, "whoever knows the payouts")
        for kind in ("Gaussian", "Bernoulli", "Contextual")
    },
}
