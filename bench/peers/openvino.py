"""OpenVINO, on its CPU plugin. Channels last goes through two transposes in the graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino
from openvino import opset8 as ops

from problem import Problem

PACKAGE = "openvino"
TYPES = {
    "f16": openvino.Type.f16,
    "f32": openvino.Type.f32,
    "i8": openvino.Type.i8,
    "u8": openvino.Type.u8,
    "i32": openvino.Type.i32,
}
_threads = 1


def setup(threads: int) -> None:
    global _threads
    _threads = threads


def supports(problem: Problem, work: str) -> bool:
    if problem.op not in ("max", "avg") or work == "vjp" or problem.type not in TYPES:
        return False
    if problem.mode == "global":
        return work == "forward"
    if work == "argmax" and problem.op == "avg":
        return False
    if problem.op == "avg" and any(d != 1 for d in problem.dilation):
        return False
    return problem.channels is not None and problem.dims <= 3


def prepare(problem: Problem, work: str) -> Callable[[], openvino.Tensor]:
    x = ops.parameter(problem.shape, TYPES[problem.type])
    last = problem.channels == "last" and problem.mode != "global"
    node = _pool(_moved(x, -1, 1) if last else x, problem)
    results = [node.output(0)]
    if last:
        results = [_moved(results[0], 1, -1).output(0)]
    if work == "argmax":
        results.append(node.output(1))
    settings = {
        "INFERENCE_NUM_THREADS": _threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    model = openvino.compile_model(openvino.Model(results, [x]), "CPU", settings)
    request = model.create_infer_request()
    array = problem.x()
    request.set_input_tensor(openvino.Tensor(array, shared_memory=True))

    def call(keep: object = (model, array)) -> openvino.Tensor:
        request.infer()
        return request.get_output_tensor(0)

    return call


def to_numpy(result: openvino.Tensor, problem: Problem) -> np.ndarray:
    return result.data


def _moved(node: openvino.Node, source: int, target: int) -> openvino.Node:
    rank = len(node.shape)
    order = [axis for axis in range(rank) if axis != source % rank]
    order.insert(target % rank, source % rank)
    return ops.transpose(node, ops.constant(np.array(order, np.int64)))


def _pool(x: openvino.Node, problem: Problem) -> openvino.Node:
    if problem.mode == "global":
        reduce = ops.reduce_max if problem.op == "max" else ops.reduce_mean
        return reduce(x, np.array(problem.axes, np.int64), True)
    if problem.mode == "adaptive":
        sizes = ops.constant(np.array(problem.outputs, np.int64))
        if problem.op == "max":
            return ops.adaptive_max_pool(x, sizes, "i32")
        return ops.adaptive_avg_pool(x, sizes)
    window, stride, pads = list(problem.window), list(problem.stride), list(problem.padding)
    if problem.op == "max":
        return ops.max_pool(
            x, stride, list(problem.dilation), pads, pads, window, index_element_type="i32"
        )
    return ops.avg_pool(x, stride, pads, pads, window, exclude_pad=False)
