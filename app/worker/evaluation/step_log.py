"""Write down what a policy saw, weighed and did, step by step, so that it can be looked up."""

from typing import Any, Literal

import msgspec
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from app.protocol import messages
from app.worker.envs.vectorized.pipeline import as_the_environment_sees
from app.worker.evaluation.player import Player, Step
from app.worker.evaluation.reward_terms import RewardTerms

MOST_STEPS = 5_000
_MOST_NUMBERS = 64
_DIGITS = 4


class StepLog:
    """Keeps the first steps of an evaluation, each with the picture of the film that shows it."""

    def __init__(self, player: Player, terms: RewardTerms | None = None) -> None:
        self._player = player
        self._terms = terms
        self._weighs = _weighs(player.model)
        self._moments: list[messages.Moment] = []
        self._seen: tuple[float, ...] = ()
        self._weighed: tuple[float, ...] = ()
        self._value: float | None = None
        self._is_lost = False

    def look(self) -> None:
        """Note what the policy sees and how it weighs its actions, before it acts."""
        if self.is_full:
            return
        player = self._player
        try:
            self._seen = _numbers(as_the_environment_sees(player.envs, player.observation))
            self._weighed, self._value = _weigh(player.model, player.observation, self._weighs)
        except Exception:  # noqa: BLE001 - a policy of a new kind: the score counts without notes
            self._is_lost = True

    def note(self, step: Step, *, episode: int, picture: int) -> None:
        """Note what it did, and what came of it."""
        if self.is_full:
            return
        self._moments.append(
            messages.Moment(
                episode=episode,
                picture=picture,
                seen=self._seen,
                action=_numbers(self._player.action),
                reward=step.reward,
                weighed=self._weighed,
                value=self._value,
                terms=self._terms.latest if self._terms is not None else {},
            )
        )

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept."""
        return self._is_lost or len(self._moments) >= MOST_STEPS

    def content(self) -> bytes:
        """Return all of it as a file."""
        found = messages.Replay(weighs=self._weighs, moments=tuple(self._moments))
        return msgspec.json.encode(found)


def _weighs(model: BaseAlgorithm) -> Literal["probability", "q_value"] | None:
    """Return how a policy weighs its actions, where they can be counted."""
    if not hasattr(model.action_space, "n"):
        return None
    if any(hasattr(model.policy, name) for name in ("q_net", "quantile_net")):
        return "q_value"
    has_state = getattr(model.policy, "lstm_actor", None) is not None
    return "probability" if isinstance(model, OnPolicyAlgorithm) and not has_state else None


def _weigh(
    model: BaseAlgorithm,
    observation: Any,  # noqa: ANN401 - as the model sees it
    weighs: str | None,
) -> tuple[tuple[float, ...], float | None]:
    """Return the weight of each action, and what the policy thinks the moment is worth."""
    policy: Any = model.policy
    has_state = getattr(policy, "lstm_actor", None) is not None
    with torch.no_grad():
        seen, _ = policy.obs_to_tensor(observation)
        if weighs == "q_value":
            net = getattr(policy, "q_net", None)
            values = net(seen)[0] if net is not None else policy.quantile_net(seen).mean(dim=1)[0]
            return _numbers(values.numpy()), _number(values.max())
        if not isinstance(model, OnPolicyAlgorithm) or has_state:
            return (), None
        value = _number(policy.predict_values(seen)[0, 0])
        if weighs is None:
            return (), value
        return _numbers(policy.get_distribution(seen).distribution.probs[0].numpy()), value


def _numbers(values: Any) -> tuple[float, ...]:  # noqa: ANN401 - any array, or none
    """Return the numbers of an array if they are few enough to be read."""
    array = np.asarray(values, dtype=np.float64).ravel() if values is not None else np.empty(0)
    if array.size > _MOST_NUMBERS or not np.isfinite(array).all():
        return ()
    return tuple(round(float(value), _DIGITS) for value in array)


def _number(value: Any) -> float | None:  # noqa: ANN401 - a tensor of one number
    found = float(value)
    return round(found, _DIGITS) if np.isfinite(found) else None
