"""Export a policy to ONNX, including the normalization of observations."""

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, commands, messages
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, normalizer, single_env
from app.worker.envs.wrappers import environments_actions
from app.worker.export.onnx_graph import Graph
from app.worker.models.models import build_for_playing, load_weights
from app.worker.models.schedules import ScaledELU, ScaledReLU, ScaledTanh

_ACTIVATIONS: dict[type[torch.nn.Module], str] = {
    torch.nn.Tanh: "Tanh",
    torch.nn.ReLU: "Relu",
    torch.nn.ELU: "Elu",
    ScaledTanh: "Tanh",
    ScaledReLU: "Relu",
    ScaledELU: "Elu",
}
_NORMALIZED = (ScaledTanh, ScaledReLU, ScaledELU)


class NotExportableError(Exception):
    """The policy can't be exported; the text is the message for the user."""


def export(job: commands.Export, channel: Channel, weights: bytes) -> None:
    """Build the policy, load its weights, and send it as an ONNX file."""
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
    """Return a policy as the bytes of an ONNX file with input `observation` and output `action`.

    Raises:
        NotExportableError: if it has other than dense layers, or its environment needs the lab.
    """
    _check(setup, model, envs)
    graph = Graph()
    observation = _observe(graph, model, envs)
    kept = environments_actions(single_env(envs))
    if hasattr(model.policy, "mlp_extractor"):
        _actor_critic(graph, model, observation, kept)
    elif hasattr(model.policy, "actor"):
        _continuous(graph, model, observation)
    else:
        _q_network(graph, model, observation, kept)
    return graph.file({"env_id": setup.env_id, "algorithm": setup.algorithm})


def _check(setup: commands.Setup, model: BaseAlgorithm, envs: VecEnv) -> None:
    if not isinstance(model.observation_space, spaces.Box | spaces.Discrete):
        kind = type(model.observation_space).__name__
        raise NotExportableError(f"Policies with {kind} observations can't be exported to ONNX.")
    if not isinstance(model.action_space, spaces.Box | spaces.Discrete):
        kind = type(model.action_space).__name__
        raise NotExportableError(f"Policies with {kind} actions can't be exported to ONNX.")
    policy: Any = model.policy
    extractors = [one for one in policy.modules() if type(one).__name__.endswith("Extractor")]
    if any(type(one).__name__ == "NatureCNN" for one in policy.modules()):
        raise NotExportableError("Policies with image observations can't be exported to ONNX.")
    if not any(isinstance(one, FlattenExtractor) for one in extractors) or model.use_sde:
        raise NotExportableError("Only policies of plain dense layers can be exported to ONNX.")
    if setup.wrappers.frame_stack > 1 or setup.wrappers.frame_skip > 1:
        raise NotExportableError(
            "Policies of runs with frame_stack or frame_skip need the lab's wrappers, so an ONNX "
            "file alone would not work."
        )
    _check_environment(setup, envs)


def _check_environment(setup: commands.Setup, envs: VecEnv) -> None:
    """Check that `gymnasium.make` creates the environment that the policy was trained on."""
    try:
        env = gym.make(setup.env_id, **setup.env_kwargs)
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        raise NotExportableError(f"{setup.env_id} can't be made without the lab.") from None
    entry_point = str(env.spec.entry_point) if env.spec else ""
    is_same = env.observation_space == envs.unwrapped.observation_space
    env.close()
    if entry_point.startswith("app.") or not is_same:
        raise NotExportableError(
            f"{setup.env_id} needs the lab's wrappers, so an ONNX file alone would not work."
        )


def _observe(graph: Graph, model: BaseAlgorithm, envs: VecEnv) -> str:
    space = model.observation_space
    if isinstance(space, spaces.Discrete):
        values = graph.input("observation", (), is_integer=True)
        depth = graph.constant(np.array([int(space.n)], dtype=np.int64))
        return graph.add("OneHot", values, depth, graph.numbers([0.0, 1.0]), axis=1)
    values = graph.input("observation", envs.unwrapped.observation_space.shape or ())
    if space.shape != envs.unwrapped.observation_space.shape:
        # SB3 moves the channels of small pictures to the front, too.
        values = graph.add("Transpose", values, perm=(0, 3, 1, 2))
    normalization = normalizer(envs)
    if normalization is not None and normalization.norm_obs:
        rms: Any = normalization.obs_rms
        centred = graph.add("Sub", values, graph.numbers(rms.mean))
        deviation = graph.numbers(np.sqrt(rms.var + normalization.epsilon))
        scaled = graph.add("Div", centred, deviation)
        bound = normalization.clip_obs
        values = graph.add("Clip", scaled, graph.numbers(-bound), graph.numbers(bound))
    if is_image_space(space) and model.policy.normalize_images:
        values = graph.add("Div", values, graph.numbers(255.0))
    return graph.add("Flatten", values, axis=1)


def _actor_critic(
    graph: Graph, model: BaseAlgorithm, observation: str, kept: NDArray[np.int64] | None
) -> None:
    policy: Any = model.policy
    latent = _dense(graph, policy.mlp_extractor.policy_net, observation)
    output = _dense(graph, policy.action_net, latent)
    if isinstance(model.action_space, spaces.Discrete):
        _output_discrete(graph, output, int(model.action_space.n), kept)
    else:
        space = _box(model)
        low, high = graph.numbers(space.low.ravel()), graph.numbers(space.high.ravel())
        clipped = graph.add("Min", graph.add("Max", output, low), high)
        _output_continuous(graph, clipped, space)


def _continuous(graph: Graph, model: BaseAlgorithm, observation: str) -> None:
    actor: Any = model.policy.actor
    space = _box(model)
    if hasattr(actor, "latent_pi"):
        latent = _dense(graph, actor.latent_pi, observation)
        squashed = graph.add("Tanh", _dense(graph, actor.mu, latent))
    else:
        squashed = _dense(graph, actor.mu, observation)
    half = graph.numbers((space.high - space.low).ravel() / 2)
    middle = graph.numbers((space.high + space.low).ravel() / 2)
    _output_continuous(graph, graph.add("Add", graph.add("Mul", squashed, half), middle), space)


def _q_network(
    graph: Graph, model: BaseAlgorithm, observation: str, kept: NDArray[np.int64] | None
) -> None:
    policy: Any = model.policy
    assert isinstance(model.action_space, spaces.Discrete)
    actions = int(model.action_space.n)
    if hasattr(policy, "q_net"):
        values = _dense(graph, policy.q_net.q_net, observation)
    else:
        network = policy.quantile_net
        quantiles = _dense(graph, network.quantile_net, observation)
        shape = np.array([-1, network.n_quantiles, actions], dtype=np.int64)
        table = graph.add("Reshape", quantiles, graph.constant(shape))
        axes = graph.constant(np.array([1], dtype=np.int64))
        values = graph.add("ReduceMean", table, axes, keepdims=0)
    _output_discrete(graph, values, actions, kept)


def _output_discrete(
    graph: Graph, scores: str, actions: int, kept: NDArray[np.int64] | None
) -> None:
    """Output a score per action of the agent, and the chosen one as the environment numbers it."""
    graph.output("scores", scores, (actions,), is_integer=False)
    chosen = graph.add("ArgMax", scores, axis=1, keepdims=0)
    if kept is not None:
        chosen = graph.add("Gather", graph.constant(kept.astype(np.int64)), chosen, axis=0)
    graph.output("action", chosen, (), is_integer=True)


def _output_continuous(graph: Graph, action: str, space: spaces.Box) -> None:
    shape = graph.constant(np.array([-1, *space.shape], dtype=np.int64))
    graph.output("action", graph.add("Reshape", action, shape), space.shape, is_integer=False)


def _box(model: BaseAlgorithm) -> spaces.Box:
    assert isinstance(model.action_space, spaces.Box)
    return model.action_space


def _dense(graph: Graph, module: torch.nn.Module, values: str) -> str:
    """Add the layers of a network of dense layers."""
    layers = list(module) if isinstance(module, torch.nn.Sequential) else [module]
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            weight = graph.numbers(layer.weight.detach().numpy())
            bias = graph.numbers(layer.bias.detach().numpy())
            values = graph.add("Gemm", values, weight, bias, transB=1)
        elif type(layer) in _ACTIVATIONS:
            if isinstance(layer, _NORMALIZED):
                values = _layer_norm(graph, values)
            values = graph.add(_ACTIVATIONS[type(layer)], values)
        elif not isinstance(layer, torch.nn.Flatten | torch.nn.Identity):
            name = type(layer).__name__
            raise NotExportableError(f"Layers of type {name} can't be exported to ONNX.")
    return values


def _layer_norm(graph: Graph, values: str) -> str:
    """Add layer normalization without weights."""
    axes = graph.constant(np.array([1], dtype=np.int64))
    centred = graph.add("Sub", values, graph.add("ReduceMean", values, axes, keepdims=1))
    squared = graph.add("Mul", centred, centred)
    variance = graph.add("ReduceMean", squared, axes, keepdims=1)
    deviation = graph.add("Sqrt", graph.add("Add", variance, graph.numbers(1e-5)))
    return graph.add("Div", centred, deviation)
