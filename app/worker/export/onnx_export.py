"""Write a policy as ONNX, with the scaling of observations folded in."""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, normalizer
from app.worker.export.onnx_graph import Graph
from app.worker.models.models import build_for_playing, load_weights
from app.worker.models.schedules import ScaledELU, ScaledReLU, ScaledTanh

_ACTOR_CRITICS = ("PPO", "A2C", "TRPO")
_CONTINUOUS = ("SAC", "TQC", "TD3")
_BENDS: dict[type[torch.nn.Module], str] = {
    torch.nn.Tanh: "Tanh",
    torch.nn.ReLU: "Relu",
    torch.nn.ELU: "Elu",
    ScaledTanh: "Tanh",
    ScaledReLU: "Relu",
    ScaledELU: "Elu",
}
_SCALED = (ScaledTanh, ScaledReLU, ScaledELU)


class NotExportableError(Exception):
    """The policy can't be written; the text is the whole sentence."""


def export(job: commands.Export, channel: Channel, weights: bytes) -> None:
    """Build the policy, take its weights, and deliver it as a file."""
    try:
        envs = make_evaluation_envs(job.setup)
        model = build_for_playing(job.setup, envs)
        load_weights(model, envs, weights)
        content = write_policy(job.setup, model, envs)
    except NotExportableError as error:
        channel.send(messages.Refused(why=str(error)))
        return
    channel.send_file("policy.onnx", content)
    channel.send(messages.Finished(reason="budget"))


def write_policy(setup: commands.Setup, model: BaseAlgorithm, envs: VecEnv) -> bytes:
    """Return a policy as the bytes of an ONNX file: `observation` in, `action` out.

    Raises:
        NotExportableError: if it isn't made of dense layers, or plays what only the lab can make.
    """
    _check(setup, model, envs)
    graph = Graph()
    observed = _observe(graph, model, envs)
    if setup.algorithm in _ACTOR_CRITICS:
        _actor_critic(graph, model, observed)
    elif setup.algorithm in _CONTINUOUS:
        _continuous(graph, model, observed)
    else:
        _q_network(graph, setup.algorithm, model, observed)
    return graph.file({"env_id": setup.env_id, "algorithm": setup.algorithm})


def _check(setup: commands.Setup, model: BaseAlgorithm, envs: VecEnv) -> None:
    if setup.algorithm not in (*_ACTOR_CRITICS, *_CONTINUOUS, "DQN", "QRDQN"):
        raise NotExportableError(f"ONNX has no form for a policy of {setup.algorithm} here.")
    if not isinstance(model.observation_space, spaces.Box | spaces.Discrete):
        kind = type(model.observation_space).__name__
        raise NotExportableError(f"Policies that see a {kind} can't be written as ONNX here.")
    if not isinstance(model.action_space, spaces.Box | spaces.Discrete):
        kind = type(model.action_space).__name__
        raise NotExportableError(f"Policies that act in a {kind} can't be written as ONNX here.")
    policy: Any = model.policy
    extractors = [one for one in policy.modules() if type(one).__name__.endswith("Extractor")]
    if any(type(one).__name__ == "NatureCNN" for one in policy.modules()):
        raise NotExportableError("Policies that look at pictures can't be written as ONNX here.")
    if not any(isinstance(one, FlattenExtractor) for one in extractors) or model.use_sde:
        raise NotExportableError("Only policies of plain dense layers can be written as ONNX.")
    if setup.wrappers.frame_stack > 1 or setup.wrappers.frame_skip > 1:
        raise NotExportableError(
            "Policies of runs with frame_stack or frame_skip need the lab's wrappers, so an ONNX "
            "file alone would not play."
        )
    _check_environment(setup, envs)


def _check_environment(setup: commands.Setup, envs: VecEnv) -> None:
    """Make sure that `gymnasium.make` gives to everybody what the policy learned on."""
    try:
        env = gym.make(setup.env_id, **setup.env_kwargs)
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        raise NotExportableError(f"{setup.env_id} can't be made without the lab.") from None
    comes_from = str(env.spec.entry_point) if env.spec else ""
    same = env.observation_space == envs.unwrapped.observation_space
    env.close()
    if comes_from.startswith("app.") or not same:
        raise NotExportableError(
            f"{setup.env_id} is played with wrappers of the lab, so an ONNX file alone would not."
        )


def _observe(graph: Graph, model: BaseAlgorithm, envs: VecEnv) -> str:
    space = model.observation_space
    if isinstance(space, spaces.Discrete):
        seen = graph.input("observation", (), is_whole=True)
        depth = graph.constant(np.array([int(space.n)], dtype=np.int64))
        return graph.add("OneHot", seen, depth, graph.numbers([0.0, 1.0]), axis=1)
    seen = graph.input("observation", space.shape or ())
    scaling = normalizer(envs)
    if scaling is not None and scaling.norm_obs:
        rms: Any = scaling.obs_rms
        centred = graph.add("Sub", seen, graph.numbers(rms.mean))
        deviation = graph.numbers(np.sqrt(rms.var + scaling.epsilon))
        scaled = graph.add("Div", centred, deviation)
        bound = scaling.clip_obs
        seen = graph.add("Clip", scaled, graph.numbers(-bound), graph.numbers(bound))
    return graph.add("Flatten", seen, axis=1)


def _actor_critic(graph: Graph, model: BaseAlgorithm, observed: str) -> None:
    policy: Any = model.policy
    latent = _dense(graph, policy.mlp_extractor.policy_net, observed)
    said = _dense(graph, policy.action_net, latent)
    if isinstance(model.action_space, spaces.Discrete):
        _choose(graph, said, int(model.action_space.n))
    else:
        space = _box(model)
        low, high = graph.numbers(space.low.ravel()), graph.numbers(space.high.ravel())
        clipped = graph.add("Min", graph.add("Max", said, low), high)
        _act(graph, clipped, space)


def _continuous(graph: Graph, model: BaseAlgorithm, observed: str) -> None:
    actor: Any = model.policy.actor
    space = _box(model)
    if hasattr(actor, "latent_pi"):
        latent = _dense(graph, actor.latent_pi, observed)
        squashed = graph.add("Tanh", _dense(graph, actor.mu, latent))
    else:
        squashed = _dense(graph, actor.mu, observed)
    half = graph.numbers((space.high - space.low).ravel() / 2)
    middle = graph.numbers((space.high + space.low).ravel() / 2)
    _act(graph, graph.add("Add", graph.add("Mul", squashed, half), middle), space)


def _q_network(graph: Graph, algorithm: str, model: BaseAlgorithm, observed: str) -> None:
    policy: Any = model.policy
    assert isinstance(model.action_space, spaces.Discrete)
    actions = int(model.action_space.n)
    if algorithm == "DQN":
        values = _dense(graph, policy.q_net.q_net, observed)
    else:
        network = policy.quantile_net
        quantiles = _dense(graph, network.quantile_net, observed)
        shape = np.array([-1, network.n_quantiles, actions], dtype=np.int64)
        table = graph.add("Reshape", quantiles, graph.constant(shape))
        axes = graph.constant(np.array([1], dtype=np.int64))
        values = graph.add("ReduceMean", table, axes, keepdims=0)
    _choose(graph, values, actions)


def _choose(graph: Graph, scores: str, actions: int) -> None:
    graph.output("scores", scores, (actions,), is_whole=False)
    chosen = graph.add("ArgMax", scores, axis=1, keepdims=0)
    graph.output("action", chosen, (), is_whole=True)


def _act(graph: Graph, action: str, space: spaces.Box) -> None:
    shape = graph.constant(np.array([-1, *space.shape], dtype=np.int64))
    graph.output("action", graph.add("Reshape", action, shape), space.shape, is_whole=False)


def _box(model: BaseAlgorithm) -> spaces.Box:
    assert isinstance(model.action_space, spaces.Box)
    return model.action_space


def _dense(graph: Graph, module: torch.nn.Module, flow: str) -> str:
    """Add the layers of a network of dense layers."""
    layers = list(module) if isinstance(module, torch.nn.Sequential) else [module]
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            weight = graph.numbers(layer.weight.detach().numpy())
            bias = graph.numbers(layer.bias.detach().numpy())
            flow = graph.add("Gemm", flow, weight, bias, transB=1)
        elif type(layer) in _BENDS:
            if isinstance(layer, _SCALED):
                flow = _scaled(graph, flow)
            flow = graph.add(_BENDS[type(layer)], flow)
        elif not isinstance(layer, torch.nn.Flatten | torch.nn.Identity):
            name = type(layer).__name__
            raise NotExportableError(f"A layer of the kind {name} can't be written as ONNX here.")
    return flow


def _scaled(graph: Graph, flow: str) -> str:
    """Do what layer normalisation without weights does."""
    axes = graph.constant(np.array([1], dtype=np.int64))
    centred = graph.add("Sub", flow, graph.add("ReduceMean", flow, axes, keepdims=1))
    squared = graph.add("Mul", centred, centred)
    variance = graph.add("ReduceMean", squared, axes, keepdims=1)
    deviation = graph.add("Sqrt", graph.add("Add", variance, graph.numbers(1e-5)))
    return graph.add("Div", centred, deviation)
