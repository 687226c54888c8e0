"""Log each step of a policy: observation, action probabilities or Q-values, and action."""

from typing import Any, Literal

import msgspec
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import messages
from app.worker.envs.vectorized.pipeline import original_observation
from app.worker.evaluation.player import TimeStep
from app.worker.evaluation.reward_terms import RewardTerms

MAX_STEPS = 5_000
_MAX_NUMBERS = 64
_DIGITS = 4


class StepLog:
    """Keeps the first steps of an evaluation, each with the index of its frame in the video."""

    def __init__(
        self, envs: VecEnv, model: BaseAlgorithm, terms: RewardTerms | None = None
    ) -> None:
        self._envs = envs
        self._model = model
        self._terms = terms
        self._score_kind = _score_kind(model)
        self._steps: list[messages.ReplayStep] = []
        self._has_failed = False

    def add(self, step: TimeStep, *, frame_index: int | None) -> None:
        """Log the observation, the scores of the actions, and the chosen action."""
        if frame_index is None or step.number == 0 or self.is_full:
            return
        try:
            observation = _numbers(original_observation(self._envs, step.observation))
            scores, value = _action_scores(self._model, step, self._score_kind)
        except Exception:  # noqa: BLE001 - an unknown kind of policy: the score is valid anyway
            self._has_failed = True
            return
        self._steps.append(
            messages.ReplayStep(
                episode=step.episode,
                picture=frame_index,
                seen=observation,
                action=_numbers(step.actions[messages.AGENT]),
                reward=step.reward,
                weighed=scores,
                value=value,
                terms=self._terms.latest if self._terms is not None else {},
            )
        )

    @property
    def is_full(self) -> bool:
        """Whether no more steps are logged."""
        return self._has_failed or len(self._steps) >= MAX_STEPS

    def content(self) -> bytes:
        """Return the log as a JSON file."""
        replay = messages.Replay(weighs=self._score_kind, moments=tuple(self._steps))
        return msgspec.json.encode(replay)


def _score_kind(model: BaseAlgorithm) -> Literal["probability", "q_value"] | None:
    """Return what kind of score a policy gives each discrete action; None if it gives none."""
    if not hasattr(model.action_space, "n"):
        return None
    if any(hasattr(model.policy, name) for name in ("q_net", "quantile_net")):
        return "q_value"
    has_state = getattr(model.policy, "lstm_actor", None) is not None
    return "probability" if isinstance(model, OnPolicyAlgorithm) and not has_state else None


def _action_scores(
    model: BaseAlgorithm, step: TimeStep, kind: str | None
) -> tuple[tuple[float, ...], float | None]:
    """Return the score of each action, and the policy's value estimate of the observation."""
    policy: Any = model.policy
    has_state = getattr(policy, "lstm_actor", None) is not None
    with torch.no_grad():
        obs, _ = policy.obs_to_tensor(step.observation)
        if kind == "q_value":
            net = getattr(policy, "q_net", None)
            values = net(obs)[0] if net is not None else policy.quantile_net(obs).mean(dim=1)[0]
            return _numbers(values.numpy()), _number(values.max())
        if not isinstance(model, OnPolicyAlgorithm) or has_state:
            return (), None
        value = _number(policy.predict_values(obs)[0, 0])
        if kind is None:
            return (), value
        masks = {} if step.masks is None else {"action_masks": step.masks}
        probabilities = policy.get_distribution(obs, **masks).distribution.probs[0]
        return _numbers(probabilities.numpy()), value


def _numbers(values: Any) -> tuple[float, ...]:  # noqa: ANN401 - any array, or none
    """Return the numbers of an array, or none if they are too many or not finite."""
    array = np.asarray(values, dtype=np.float64).ravel() if values is not None else np.empty(0)
    if array.size > _MAX_NUMBERS or not np.isfinite(array).all():
        return ()
    return tuple(round(float(value), _DIGITS) for value in array)


def _number(value: Any) -> float | None:  # noqa: ANN401 - a tensor of one number
    number = float(value)
    return round(number, _DIGITS) if np.isfinite(number) else None
