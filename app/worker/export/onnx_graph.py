"""Build an ONNX file node by node, as far as policies of dense layers need it."""

from collections.abc import Sequence

import numpy as np

from app.protocol import protobuf as pb

_IR_VERSION, _OPSET = 9, 18
_FLOAT, _INT64 = 1, 7
_KIND_INT, _KIND_INTS = 2, 7
_TYPES = {np.dtype(np.float32): _FLOAT, np.dtype(np.int64): _INT64}


class Graph:
    """Nodes in order of creation, each with one output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._interface: list[bytes] = []

    def add(self, operator: str, *inputs: str, **attributes: int | Sequence[int]) -> str:
        """Add a node and return the name of its output."""
        name = f"{operator.lower()}_{len(self._nodes)}"
        parts = [pb.text(1, one) for one in inputs]
        parts += [pb.text(2, name), pb.text(3, name), pb.text(4, operator)]
        parts += [_attribute(key, value) for key, value in attributes.items()]
        self._nodes.append(pb.message(1, parts))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Add a constant tensor and return its name."""
        name = f"constant_{len(self._constants)}"
        dims = [pb.whole(1, size) for size in values.shape]
        kind = pb.whole(2, _TYPES[values.dtype])
        content = pb.text(9, np.ascontiguousarray(values).tobytes())
        self._constants.append(pb.message(5, [*dims, kind, pb.text(8, name), content]))
        return name

    def numbers(self, values: object) -> str:
        """Add a constant float32 tensor and return its name."""
        return self.constant(np.asarray(values, dtype=np.float32))

    def input(self, name: str, shape: Sequence[int], *, is_integer: bool = False) -> str:
        """Declare the input, with one row per observation."""
        self._interface.append(_tensor_info(11, name, shape, _INT64 if is_integer else _FLOAT))
        return name

    def output(self, name: str, source: str, shape: Sequence[int], *, is_integer: bool) -> None:
        """Declare an output, with one row per observation."""
        parts = [pb.text(1, source), pb.text(2, name), pb.text(3, name), pb.text(4, "Identity")]
        self._nodes.append(pb.message(1, parts))
        self._interface.append(_tensor_info(12, name, shape, _INT64 if is_integer else _FLOAT))

    def file(self, metadata: dict[str, str]) -> bytes:
        """Return the whole file; `metadata` is stored as metadata properties."""
        graph = [*self._nodes, pb.text(2, "policy"), *self._constants, *self._interface]
        opset = pb.message(8, [pb.text(1, ""), pb.whole(2, _OPSET)])
        more = [pb.message(14, [pb.text(1, name), pb.text(2, v)]) for name, v in metadata.items()]
        head = [pb.whole(1, _IR_VERSION), pb.text(2, "rl-lab")]
        return b"".join([*head, pb.message(7, graph), opset, *more])


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return pb.message(5, [pb.text(1, name), pb.whole(3, value), pb.whole(20, _KIND_INT)])
    many = [pb.whole(8, one) for one in value]
    return pb.message(5, [pb.text(1, name), *many, pb.whole(20, _KIND_INTS)])


def _tensor_info(number: int, name: str, shape: Sequence[int], kind: int) -> bytes:
    dims = [pb.message(1, [pb.text(2, "batch")])]
    dims += [pb.message(1, [pb.whole(1, size)]) for size in shape]
    tensor = pb.message(1, [pb.whole(1, kind), pb.message(2, dims)])
    return pb.message(number, [pb.text(1, name), pb.text(2, tensor)])
