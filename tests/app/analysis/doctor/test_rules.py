"""Each rule with situations that it must detect and situations that it must not."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from app.analysis.doctor.rules import (
    custom_reward,
    learning,
    policy,
    rates,
    replay_buffer,
    rewards,
    setup,
    speed,
)
from app.analysis.doctor.rules.catalogue import RULES, examine
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation
from app.run_config.config import AppliedChange, RunConfig
from app.run_config.derived_runs import derive
from app.run_config.request import RunRequest
from storage.records.runs import RunStatus
from tests.app.analysis.doctor.situations import Curve, flat, noisy, rising, situation

Rule = Callable[[Situation], Insight | None]

RANDOM = noisy(flat(22.0), 10.0)
LEARNED = noisy(rising(22.0, 490.0), 10.0)
LEVELLED = noisy(rising(22.0, 200.0, until=0.3), 10.0)
EVEN = math.log(2)

DQN = {"algorithm": "DQN"}
PENDULUM = {"env_id": "Pendulum-v1"}
NO_THRESHOLD = {"env_id": "GaussianBandit-v0"}
"""An environment whose rewards have no known good value."""
WRITTEN = {"reward_code": "def reward_function(obs, action):\n    return 1.0"}


def dqn(**hyperparameters: object) -> dict[str, object]:
    return {**DQN, "hyperparameters": hyperparameters}


def ppo(**hyperparameters: object) -> dict[str, object]:
    return {"hyperparameters": hyperparameters}


def sac(**hyperparameters: object) -> dict[str, object]:
    return {**PENDULUM, "algorithm": "SAC", "hyperparameters": hyperparameters}


def a2c(**settings: object) -> dict[str, object]:
    return {"algorithm": "A2C", "n_envs": 1, **settings}


def taxi(**hyperparameters: object) -> dict[str, object]:
    return {"env_id": "Taxi-v4", "algorithm": "MaskablePPO", "hyperparameters": hyperparameters}


def fell(share: float) -> float:
    return 22.0 + (400.0 * share / 0.5 if share < 0.5 else 400.0 * max(0.1, 1 - 2 * (share - 0.5)))


def one_outlier() -> Curve:
    return lambda share: 5_000.0 if share == 350 / 400 else 100.0 + int(share * 400) % 3


DETECTED: list[tuple[Rule, str, Situation]] = [
    (rewards.converged, "converged", situation(reward=LEARNED)),
    (
        rewards.converged,
        "converged",
        situation(PENDULUM, reward=noisy(rising(-1200.0, -400.0), 100.0)),
    ),
    (
        rewards.variance_reduced,
        "variance_reduced",
        situation(reward=lambda s: LEARNED(s) if s < 0.75 else 490.0),
    ),
    (
        custom_reward.reward_exploited,
        "reward_exploited",
        situation(WRITTEN, reward=RANDOM, shaped_reward=noisy(rising(5.0, 80.0), 2.0)),
    ),
    (
        custom_reward.reward_exploited,
        "reward_exploited",
        situation(WRITTEN, reward=noisy(fell, 5.0), shaped_reward=noisy(rising(5.0, 80.0), 2.0)),
    ),
    (rewards.stuck, "stuck", situation(reward=RANDOM)),
    (rewards.plateau, "plateau", situation(reward=LEVELLED)),
    (rewards.collapsed, "collapsed", situation(reward=noisy(fell, 5.0))),
    (rewards.reward_outliers, "reward_outliers", situation(reward=one_outlier())),
    (
        learning.not_a_number,
        "not_a_number",
        situation(reward=RANDOM, loss=lambda share: 1.0 if share < 0.5 else None),
    ),
    (
        learning.not_a_number,
        "not_a_number",
        situation(
            reward=RANDOM,
            status=RunStatus.FAILED,
            error="Training diverged: gradients are not finite. Lower learning_rate.",
        ),
    ),
    (
        rates.unusual_rate,
        "learning_rate_high",
        situation(dqn(learning_rate=0.5), reward=RANDOM),
    ),
    (
        rates.unusual_rate,
        "learning_rate_low",
        situation(dqn(learning_rate=1e-7), reward=RANDOM),
    ),
    (
        learning.values_diverge,
        "values_diverge",
        situation(DQN, reward=RANDOM, value_max=flat(5_000.0), value_min=flat(0.0)),
    ),
    (
        learning.critic_useless,
        "critic_useless",
        situation(reward=RANDOM, explained_variance=flat(-0.4)),
    ),
    (
        learning.value_loss_large,
        "value_loss_large",
        situation(reward=RANDOM, value_loss=flat(50_000.0), policy_loss=flat(0.01)),
    ),
    (
        learning.gradients_explode,
        "gradients_explode",
        situation(reward=RANDOM, grad_norm=lambda share: 10.0 ** (4 * share)),
    ),
    (
        learning.gradients_explode,
        "gradients_explode",
        situation(sac(), reward=flat(-1200.0), grad_norm=lambda share: 10.0 ** (4 * share)),
    ),
    (
        learning.gradients_explode,
        "gradients_explode",
        situation(reward=noisy(fell, 5.0), grad_norm=lambda share: 10.0 ** (4 * share)),
    ),
    (learning.dead_units, "dead_units", situation(reward=RANDOM, dead_units=flat(0.8))),
    (
        policy.entropy_high,
        "entropy_high",
        situation(ppo(ent_coef=0.5), reward=RANDOM, entropy=flat(0.99 * EVEN)),
    ),
    (
        policy.entropy_high,
        "entropy_high",
        situation(
            taxi(ent_coef=0.5), reward=flat(-200.0), entropy=flat(0.98), max_entropy=flat(1.0)
        ),
    ),
    (
        policy.entropy_collapsed,
        "entropy_collapsed",
        situation(taxi(), reward=flat(-200.0), entropy=flat(0.01), max_entropy=flat(1.0)),
    ),
    (
        policy.entropy_collapsed,
        "entropy_collapsed",
        situation(reward=RANDOM, entropy=lambda share: max(0.001, EVEN * (1 - 10 * share))),
    ),
    (policy.policy_jumps, "policy_jumps", situation(reward=RANDOM, approx_kl=flat(0.4))),
    (
        policy.policy_hardly_moves,
        "policy_hardly_moves",
        situation(ppo(learning_rate=1e-7), reward=RANDOM, approx_kl=flat(1e-8)),
    ),
    (
        policy.updates_cut_short,
        "updates_cut_short",
        situation(ppo(target_kl=0.001), reward=RANDOM, epochs=flat(1.2)),
    ),
    (policy.clips_much, "clips_much", situation(reward=RANDOM, clip_fraction=flat(0.7))),
    (
        replay_buffer.learning_not_started,
        "learning_not_started",
        situation(dqn(learning_starts=200_000), reward=RANDOM),
    ),
    (
        replay_buffer.exploration,
        "explores_too_long",
        situation(dqn(exploration_final_eps=0.9), reward=RANDOM, exploration_rate=flat(0.9)),
    ),
    (
        replay_buffer.exploration,
        "explores_too_short",
        situation(
            dqn(exploration_fraction=0.001, learning_starts=10_000),
            reward=RANDOM,
            exploration_rate=flat(0.05),
        ),
    ),
    (
        replay_buffer.exploration,
        "exploration_over",
        situation(DQN, reward=LEARNED, exploration_rate=flat(0.05)),
    ),
    (
        replay_buffer.replay_ratio,
        "replay_ratio_low",
        situation(dqn(train_freq=500, gradient_steps=1), reward=RANDOM),
    ),
    (
        replay_buffer.replay_ratio,
        "replay_ratio_low",
        situation(sac(gradient_steps=0), reward=noisy(flat(-1200.0), 300.0)),
    ),
    # A transferred policy that is good from the start doesn't learn, either.
    (
        replay_buffer.replay_ratio,
        "replay_ratio_low",
        situation(dqn(gradient_steps=0), reward=noisy(flat(490.0), 5.0)),
    ),
    (
        replay_buffer.replay_ratio,
        "replay_ratio_high",
        situation(dqn(train_freq=1, gradient_steps=50), reward=RANDOM),
    ),
    (
        setup.pinned_at_limit,
        "pinned_at_limit",
        situation({"env_id": "MountainCar-v0"}, reward=flat(-200.0), length=flat(200)),
    ),
    (
        setup.pinned_at_limit,
        "pinned_at_limit",
        situation({"wrappers": {"time_limit": 50}}, reward=flat(50.0), length=flat(50)),
    ),
    (
        setup.pinned_at_limit,
        "pinned_at_limit",
        situation(
            {"wrappers": {"time_limit": 50, "frame_skip": 4}}, reward=flat(50.0), length=flat(50)
        ),
    ),
    (
        setup.pinned_at_limit,
        "pinned_at_limit",
        situation(
            {"env_id": "Acrobot-v1", "wrappers": {"time_limit": 40}},
            reward=flat(-40.0),
            length=flat(40),
        ),
    ),
    (
        setup.observation_scale,
        "observation_scale",
        situation(reward=RANDOM, observation_max=flat(400.0)),
    ),
    (
        setup.too_few_environments,
        "too_few_environments",
        situation(a2c(), reward=RANDOM),
    ),
    (setup.short_sighted, "short_sighted", situation(ppo(gamma=0.2), reward=RANDOM)),
    (
        setup.seeds_disagree,
        "seeds_disagree",
        situation({"seeds_scored": (480.0, 470.0, 25.0)}, reward=LEARNED),
    ),
    (
        speed.slow_down,
        "slow_down",
        situation(
            reward=RANDOM, collect_s=lambda share: 0.1 if share < 0.6 else 0.9, learn_s=flat(0.1)
        ),
    ),
]

NOT_DETECTED: list[tuple[Rule, Situation]] = [
    # Both rewards rise; neither does; there is no custom reward; both fall.
    (
        custom_reward.reward_exploited,
        situation(WRITTEN, reward=LEARNED, shaped_reward=rising(5.0, 80.0)),
    ),
    (
        custom_reward.reward_exploited,
        situation(WRITTEN, reward=LEARNED, shaped_reward=rising(5.0, 80.0)),
    ),
    (
        custom_reward.reward_exploited,
        situation(WRITTEN, reward=RANDOM, shaped_reward=noisy(flat(5.0), 2.0)),
    ),
    (custom_reward.reward_exploited, situation(reward=RANDOM)),
    (
        custom_reward.reward_exploited,
        situation(WRITTEN, reward=noisy(fell, 5.0), shaped_reward=fell),
    ),
    # The bounds of the environment's reward do not hold for a custom one.
    (learning.values_diverge, situation(WRITTEN, reward=RANDOM, value_max=flat(1e5))),
    (rewards.converged, situation(reward=RANDOM)),
    (rewards.converged, situation(reward=noisy(rising(22.0, 490.0, until=1.0), 10.0))),
    (rewards.converged, situation(NO_THRESHOLD, reward=noisy(rising(0.0, 90.0, until=1.0), 5.0))),
    (rewards.variance_reduced, situation(reward=LEVELLED)),
    (rewards.stuck, situation(reward=LEARNED)),
    (rewards.stuck, situation(reward=noisy(flat(490.0), 5.0))),
    (rewards.plateau, situation(reward=LEARNED)),
    (rewards.plateau, situation(reward=noisy(rising(22.0, 300.0, until=1.0), 10.0))),
    # It ended after a second: too soon to have levelled off.
    (rewards.plateau, situation({"total_timesteps": 8_000}, reward=LEVELLED)),
    # Far from the goal, but half of the progress came late.
    (rewards.plateau, situation(reward=noisy(rising(22.0, 60.0, until=1.0), 10.0))),
    (rewards.collapsed, situation(reward=LEARNED)),
    (rewards.collapsed, situation(reward=RANDOM)),
    (rewards.reward_outliers, situation(reward=RANDOM)),
    (learning.not_a_number, situation(reward=RANDOM, loss=flat(1.0))),
    # Without spread in the returns there is no variance to explain: not a problem.
    (learning.not_a_number, situation(reward=RANDOM, explained_variance=lambda _: None)),
    (
        learning.not_a_number,
        situation(reward=RANDOM, error="The environment returned NaN as reward in step 3."),
    ),
    (rates.unusual_rate, situation(DQN, reward=RANDOM)),
    (rates.unusual_rate, situation(dqn(learning_rate=0.5), reward=LEARNED)),
    # SB3's own default for QRDQN, and RL Zoo's for Atari.
    (
        rates.unusual_rate,
        situation(
            {"algorithm": "QRDQN", "hyperparameters": {"learning_rate": 5e-5}}, reward=RANDOM
        ),
    ),
    (learning.values_diverge, situation(DQN, reward=LEARNED, value_max=flat(99.0))),
    # With 8 steps per action CartPole pays 8 at a time.
    (
        learning.values_diverge,
        situation({"wrappers": {"frame_skip": 8}}, reward=LEARNED, value_max=flat(400.0)),
    ),
    (learning.critic_useless, situation(reward=RANDOM, explained_variance=flat(0.3))),
    (learning.critic_useless, situation(reward=LEARNED, explained_variance=flat(-0.1))),
    (
        learning.value_loss_large,
        situation(reward=RANDOM, value_loss=flat(20.0), policy_loss=flat(0.01)),
    ),
    (learning.gradients_explode, situation(reward=RANDOM, grad_norm=flat(3.0))),
    # Gradients grow with the values of a policy that improves.
    (
        learning.gradients_explode,
        situation(
            sac(),
            reward=noisy(rising(-1200.0, -200.0), 100.0),
            grad_norm=lambda share: 10.0 ** (4 * share),
        ),
    ),
    (learning.dead_units, situation(reward=RANDOM, dead_units=flat(0.1))),
    (policy.entropy_high, situation(ppo(ent_coef=0.5), reward=RANDOM, entropy=flat(0.4))),
    (policy.entropy_high, situation(reward=RANDOM, entropy=flat(0.99 * EVEN))),
    (policy.entropy_collapsed, situation(reward=RANDOM, entropy=flat(0.5))),
    (policy.entropy_collapsed, situation(reward=LEARNED, entropy=flat(0.001))),
    # Mostly one legal action of six, and never two measured: an even choice among them.
    (
        policy.entropy_collapsed,
        situation(taxi(), reward=flat(-200.0), entropy=flat(0.06), max_entropy=flat(0.07)),
    ),
    (
        policy.entropy_collapsed,
        situation(taxi(), reward=flat(-200.0), entropy=flat(0.0), max_entropy=flat(0.0)),
    ),
    (policy.entropy_collapsed, situation(taxi(), reward=flat(-200.0), entropy=flat(0.01))),
    (
        policy.entropy_high,
        situation(
            taxi(ent_coef=0.5), reward=flat(-200.0), entropy=flat(0.7), max_entropy=flat(1.0)
        ),
    ),
    # The best of the levers was found.
    (
        policy.entropy_collapsed,
        situation(NO_THRESHOLD, reward=noisy(rising(0.0, 90.0), 5.0), entropy=flat(0.001)),
    ),
    (policy.policy_jumps, situation(reward=RANDOM, approx_kl=flat(0.01))),
    (policy.policy_hardly_moves, situation(reward=RANDOM, approx_kl=flat(0.01))),
    (policy.policy_hardly_moves, situation(reward=LEARNED, approx_kl=flat(1e-8))),
    (policy.updates_cut_short, situation(ppo(target_kl=0.02), reward=RANDOM, epochs=flat(9.5))),
    (policy.updates_cut_short, situation(reward=RANDOM)),
    (policy.clips_much, situation(reward=RANDOM, clip_fraction=flat(0.1))),
    (replay_buffer.learning_not_started, situation(DQN, reward=RANDOM)),
    (replay_buffer.learning_not_started, situation(reward=RANDOM)),
    (replay_buffer.exploration, situation(reward=RANDOM)),
    (replay_buffer.exploration, situation(DQN, reward=RANDOM, exploration_rate=rising(1.0, 0.3))),
    (replay_buffer.replay_ratio, situation(DQN, reward=RANDOM)),
    (replay_buffer.replay_ratio, situation(reward=RANDOM)),
    # REDQ and DroQ do 20 gradient steps per step.
    (
        replay_buffer.replay_ratio,
        situation(sac(gradient_steps=20), reward=noisy(rising(-1200.0, -200.0), 100.0)),
    ),
    (
        replay_buffer.replay_ratio,
        situation(dqn(train_freq=500, gradient_steps=1), reward=LEARNED),
    ),
    (setup.pinned_at_limit, situation(reward=LEARNED, length=flat(500))),
    # A perfect balance, learned or from the start, where no threshold is known.
    (
        setup.pinned_at_limit,
        situation(
            NO_THRESHOLD,
            reward=lambda share: 100.0 if share > 0.4 else noisy(rising(-50.0, 90.0), 10.0)(share),
            length=flat(100),
        ),
    ),
    (setup.pinned_at_limit, situation(NO_THRESHOLD, reward=flat(100.0), length=flat(100))),
    # Lengths are steps of the environment, not actions of the agent.
    (
        setup.pinned_at_limit,
        situation(
            {"wrappers": {"time_limit": 400, "frame_skip": 4}}, reward=RANDOM, length=flat(131)
        ),
    ),
    (
        setup.pinned_at_limit,
        situation({"wrappers": {"time_limit": 490}}, reward=LEARNED, length=flat(490)),
    ),
    # Episodes of Pendulum always run to the time limit.
    (
        setup.pinned_at_limit,
        situation({"env_id": "Pendulum-v1"}, reward=noisy(flat(-900.0), 300.0), length=flat(200)),
    ),
    (setup.observation_scale, situation(reward=RANDOM, observation_max=flat(2.0))),
    (
        setup.observation_scale,
        situation(
            {"wrappers": {"normalize_observation": True}},
            reward=RANDOM,
            observation_max=flat(400.0),
        ),
    ),
    (setup.too_few_environments, situation(reward=RANDOM)),
    # SB3's own default for A2C.
    (
        setup.too_few_environments,
        situation(
            a2c(**NO_THRESHOLD, hyperparameters={"n_steps": 5}),
            reward=noisy(rising(0.0, 90.0), 5.0),
        ),
    ),
    (setup.short_sighted, situation(reward=RANDOM)),
    (setup.seeds_disagree, situation({"seeds_scored": (480.0, 470.0, 450.0)}, reward=LEARNED)),
    (setup.seeds_disagree, situation({"seeds_scored": (480.0, 25.0)}, reward=LEARNED)),
    (speed.slow_down, situation(reward=RANDOM, collect_s=flat(0.1), learn_s=flat(0.1))),
]


@pytest.mark.parametrize(
    ("rule", "code", "example"), DETECTED, ids=[code for _, code, _ in DETECTED]
)
def test_a_rule_detects_its_situation(rule: Rule, code: str, example: Situation) -> None:
    insight = rule(example)

    assert insight is not None
    assert insight.code == code
    first, last = insight.evidence.window
    assert 0 <= first <= last <= example.history.timesteps
    assert insight.evidence.numbers
    assert insight.title[0].isupper()
    assert insight.message.endswith(".")
    assert insight.suggestion.endswith(".")


@pytest.mark.parametrize(
    ("rule", "example"), NOT_DETECTED, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_rule_reports_nothing_in_other_situations(rule: Rule, example: Situation) -> None:
    assert rule(example) is None


def test_without_a_threshold_a_level_reward_is_not_called_good() -> None:
    insights = examine(situation(PENDULUM, reward=noisy(rising(-1200.0, -400.0), 100.0)))

    found = next(one for one in insights if one.code == "converged")
    assert found.severity is Severity.INFO
    assert found.title == "The reward no longer rises"
    assert "converged" not in found.message


def test_clipping_is_suggested_only_where_the_algorithm_clips() -> None:
    grows = {"grad_norm": lambda share: 10.0 ** (4 * share)}
    clips = learning.gradients_explode(situation(reward=RANDOM, **grows))
    never_clips = learning.gradients_explode(situation(sac(), reward=flat(-1200.0), **grows))

    assert clips is not None
    assert never_clips is not None
    assert "max_grad_norm" in clips.suggestion
    assert "clip" not in never_clips.suggestion


def test_a_ratio_of_zero_says_that_nothing_is_learned() -> None:
    insight = replay_buffer.replay_ratio(situation(sac(gradient_steps=0), reward=flat(-1200.0)))

    assert insight is not None
    assert insight.title == "Learning never starts"
    assert insight.change == {"hyperparameters": {"train_freq": 1, "gradient_steps": 1}}


def test_insights_about_the_reward_use_the_reward_of_episodes() -> None:
    insights = [
        rule(example) for rule, _, example in DETECTED if rule.__module__ == rewards.__name__
    ]

    assert {one.evidence.metric for one in insights if one} == {"reward"}
    assert not any("mean reward" in one.message for one in insights if one)


def test_every_rule_has_positive_and_negative_examples() -> None:
    assert {rule for rule, _, _ in DETECTED} == set(RULES)
    assert {rule for rule, _ in NOT_DETECTED} == set(RULES)


@pytest.mark.parametrize(
    ("rule", "code", "example"), DETECTED, ids=[code for _, code, _ in DETECTED]
)
def test_a_proposed_change_yields_a_valid_configuration(
    rule: Rule, code: str, example: Situation
) -> None:
    insight = rule(example)
    assert insight is not None
    if insight.change is None:
        return

    changed = derive(example.config, insight.change, keeps_seed=True)

    assert RunConfig.from_request(changed) != example.config


def test_exactly_the_existing_insights_are_documented() -> None:
    text = (Path(__file__).parents[4] / "docs" / "doctor.md").read_text()
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", text, re.MULTILINE)
    documented = {code for row in rows for code in re.findall(r"`(\w+)`", row)}

    assert documented == {code for _, code, _ in DETECTED}


def test_exploration_that_ended_long_before_an_extension_does_not_last_too_long() -> None:
    whole = situation(
        dqn(exploration_fraction=0.9), reward=LEARNED, exploration_rate=rising(1.0, 0.05)
    )
    early = whole.config.model_copy(
        update={"schedule_timesteps": whole.config.total_timesteps // 10}
    )

    before = replay_buffer.exploration(whole)
    after = replay_buffer.exploration(Situation(early, whole.history, status=RunStatus.RUNNING))

    assert before is not None
    assert after is not None
    assert (before.code, after.code) == ("explores_too_long", "exploration_over")


def test_measurements_before_a_change_no_longer_count() -> None:
    example = situation(reward=RANDOM, approx_kl=lambda share: 0.4 if share < 0.7 else 0.01)
    assert policy.policy_jumps(example) is not None

    change = AppliedChange(timesteps=70_000, learning_rate=1e-4)
    config = example.config.model_copy(update={"changes": (change,)})
    changed = Situation(config, example.history, status=RunStatus.RUNNING)

    assert policy.policy_jumps(changed) is None
    assert changed.value("learning_rate") == 1e-4


def test_rules_report_no_problem_without_measurements() -> None:
    fresh = situation()

    assert [one for one in examine(fresh) if one.severity.is_problem] == []


def test_warnings_come_first_and_causes_before_symptoms() -> None:
    insights = examine(situation(reward=RANDOM, approx_kl=flat(0.4), explained_variance=flat(-0.5)))

    codes = [insight.code for insight in insights]
    assert codes.index("policy_jumps") < codes.index("stuck")
    assert insights[0].severity is Severity.WARNING


def test_a_healthy_run_gets_no_warning() -> None:
    healthy = situation(
        reward=LEARNED,
        approx_kl=flat(0.01),
        clip_fraction=flat(0.1),
        entropy=rising(EVEN, 0.4),
        explained_variance=rising(-0.2, 0.8),
        value_loss=flat(30.0),
        policy_loss=flat(0.01),
        grad_norm=flat(2.0),
        dead_units=flat(0.0),
        observation_max=flat(2.0),
        collect_s=flat(0.1),
        learn_s=flat(0.1),
    )

    insights = examine(healthy)

    assert [insight.code for insight in insights if insight.severity.is_problem] == []
    assert insights[0].code == "converged"


def test_a_derived_request_keeps_the_unchanged_settings_of_a_run() -> None:
    request = RunRequest(
        env_id="CartPole-v1", algorithm="PPO", n_envs=4, hyperparameters={"gamma": 0.9}
    )
    config = RunConfig.from_request(request)

    changed = derive(
        config, {"hyperparameters": {"learning_rate": 1e-4}, "n_envs": 8}, keeps_seed=True
    )

    assert changed.hyperparameters["gamma"] == 0.9
    assert changed.hyperparameters["learning_rate"] == 1e-4
    assert changed.n_envs == 8
    assert changed.seed == config.seed
    assert changed.start
