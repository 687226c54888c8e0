"""PPO's update of one minibatch as one compiled function, for `compiled_update`."""

import math

import numpy as np
from numba import njit

F = np.float32
_HIDDEN, _BATCH, _STEPS = 64, 64, 2_048


@njit(fastmath=True, cache=True, inline="always")
def _tanh(x):  # noqa: ANN001, ANN202 - numba finds the types
    """A quotient of polynomials, exact to float32: the library's own can't be vectorised."""
    x = min(max(x, F(-7.9)), F(7.9))
    s = x * x
    p = F(2.00018790482477e-13) + s * F(-2.76076847742355e-16)
    p = F(5.12229709037114e-08) + s * (F(-8.60467152213735e-11) + s * p)
    p = F(4.89352455891786e-03) + s * (
        F(6.37261928875436e-04) + s * (F(1.48572235717979e-05) + s * p)
    )
    q = F(1.18534705686654e-04) + s * F(1.19825839466702e-06)
    q = F(4.89352518554385e-03) + s * (F(2.26843463243900e-03) + s * q)
    return x * p / q


@njit(fastmath=True, cache=True)
def _forward(x, weight, bias, out, bend):  # noqa: ANN001, ANN202
    for i in range(x.shape[0]):
        out[i] = bias
        for k in range(x.shape[1]):
            for o in range(weight.shape[1]):
                out[i, o] += x[i, k] * weight[k, o]
        if bend:
            for o in range(weight.shape[1]):
                out[i, o] = _tanh(out[i, o])


@njit(fastmath=True, cache=True)
def _backward(x, weight, slopes, of_weight, of_bias, of_x):  # noqa: ANN001, ANN202
    of_weight[:] = 0
    of_bias[:] = 0
    for i in range(x.shape[0]):
        for o in range(weight.shape[1]):
            of_bias[o] += slopes[i, o]
        for k in range(x.shape[1]):
            inner = F(0)
            for o in range(weight.shape[1]):
                of_weight[k, o] += x[i, k] * slopes[i, o]
                inner += weight[k, o] * slopes[i, o]
            of_x[i, k] = inner * (F(1) - x[i, k] * x[i, k])


@njit(fastmath=True, cache=True)
def _slopes(steps, batch, logits, values, of_logits, of_values):  # noqa: ANN001, ANN202
    """Return how the loss depends on both networks' outputs: clipped ratios, squared errors."""
    actions, old, advantages, returns = steps
    size = len(batch)
    mean = spread = F(0)
    for i in range(size):
        mean += advantages[batch[i]] / size
    for i in range(size):
        spread += (advantages[batch[i]] - mean) ** 2 / (size - 1)
    for i in range(size):
        n = batch[i]
        largest = logits[i].max()
        total = F(0)
        for j in range(logits.shape[1]):
            total += math.exp(logits[i, j] - largest)
        chosen = logits[i, actions[n]] - largest - math.log(total)
        ratio = math.exp(chosen - old[n])
        advantage = (advantages[n] - mean) / (math.sqrt(spread) + F(1e-8))
        free, bound = advantage * ratio, advantage * min(max(ratio, F(0.8)), F(1.2))
        slope = -free / size if free <= bound else F(0)
        for j in range(logits.shape[1]):
            of_logits[i, j] = -slope * math.exp(logits[i, j] - largest) / total
        of_logits[i, actions[n]] += slope
        of_values[i, 0] = (values[i, 0] - returns[n]) / size


@njit(fastmath=True, cache=True)
def _adam(weights, gradients, mean, spread, step):  # noqa: ANN001, ANN202
    length = math.sqrt(np.sum(gradients * gradients))
    scale = min(1.0, 0.5 / (length + 1e-6))
    rate, root = F(3e-4 / (1 - 0.9**step)), F(math.sqrt(1 - 0.999**step))
    for i in range(len(weights)):
        gradient = gradients[i] * F(scale)
        mean[i] = F(0.9) * mean[i] + F(0.1) * gradient
        spread[i] = F(0.999) * spread[i] + F(0.001) * gradient * gradient
        weights[i] -= rate * mean[i] / (math.sqrt(spread[i]) / root + F(1e-5))


@njit(fastmath=True, cache=True)
def _update(observed, steps, batch, networks, flat, step):  # noqa: ANN001, ANN202
    x = observed[batch]
    policy, value = networks
    for layers in (policy, value):
        (w1, b1), (w2, b2), (w3, b3), _, (h1, h2, out), _ = layers
        _forward(x, w1, b1, h1, True)
        _forward(h1, w2, b2, h2, True)
        _forward(h2, w3, b3, out, False)
    _slopes(steps, batch, policy[4][2], value[4][2], policy[5][2], value[5][2])
    for layers in (policy, value):
        (w1, _), (w2, _), (w3, _), gradients, (h1, h2, _), (s1, s2, s3) = layers
        _backward(h2, w3, s3, gradients[2][0], gradients[2][1], s2)
        _backward(h1, w2, s2, gradients[1][0], gradients[1][1], s1)
        _backward(x, w1, s1, gradients[0][0], gradients[0][1], x)
        x = observed[batch]
    _adam(*flat, step)


class Update:
    """A network of the default size with made-up experience: what is learned doesn't matter."""

    def __init__(self, size: int, actions: int) -> None:
        draw = np.random.default_rng(0)
        self._observed = draw.standard_normal((_STEPS, size)).astype(F)
        of_steps = draw.standard_normal((3, _STEPS)).astype(F)
        self._steps = (draw.integers(actions, size=_STEPS), *of_steps)
        shapes = [
            shape
            for outputs in (actions, 1)
            for shape in ((size, _HIDDEN), (_HIDDEN, _HIDDEN), (_HIDDEN, outputs))
        ]
        count = sum(rows * columns + columns for rows, columns in shapes)
        self._flat = tuple(np.zeros(count, F) for _ in range(4))
        self._flat[0][:] = draw.standard_normal(count) * 0.1
        weights, gradients = (_views(self._flat[n], shapes) for n in range(2))
        self._policy = (*weights[:3], gradients[:3], _room(actions), _room(actions))
        self._value = (*weights[3:], gradients[3:], _room(1), _room(1))
        self._draw, self._done = draw, 0

    def step(self, batches: int) -> None:
        """Learn from so many minibatches."""
        order = self._draw.permutation(_STEPS)
        for n in range(batches):
            start = n * _BATCH % _STEPS
            self._done += 1
            batch = order[start : start + _BATCH]
            data = (self._observed, self._steps, batch, (self._policy, self._value))
            _update(*data, self._flat, self._done)


def _views(flat, shapes):  # noqa: ANN001, ANN202 - pairs of weights and biases
    pairs, at = [], 0
    for rows, columns in shapes:
        end = at + rows * columns
        pairs.append((flat[at:end].reshape(rows, columns), flat[end : end + columns]))
        at = end + columns
    return tuple(pairs)


def _room(outputs: int):  # noqa: ANN202 - three arrays
    return tuple(np.zeros((_BATCH, width), F) for width in (_HIDDEN, _HIDDEN, outputs))
