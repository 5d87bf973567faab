"""ONNX Runtime, on its CPU provider: one node, inputs and outputs bound to memory once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from problem import FLOATS, Problem

PACKAGE = "onnxruntime"
# Versions that every release of ONNX Runtime of the last years reads.
OPSET, IR_VERSION = 13, 8
TYPES = {
    "f16": TensorProto.FLOAT16,
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "i8": TensorProto.INT8,
    "u8": TensorProto.UINT8,
}
_threads = 1


def setup(threads: int) -> None:
    global _threads
    _threads = threads


def supports(problem: Problem, work: str) -> bool:
    if problem.op not in ("max", "avg") or work == "vjp" or problem.type not in TYPES:
        return False
    if problem.op == "avg" and problem.type not in FLOATS:
        return False
    if problem.mode == "global":
        return work == "forward"
    if problem.op == "avg" and (work == "argmax" or any(d != 1 for d in problem.dilation)):
        return False
    return problem.mode == "windowed" and problem.channels == "first" and problem.dims <= 3


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    model = _model(problem, work)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    arrays = {
        "x": problem.x(),
        "y": np.empty(problem.out_shape, problem.dtype),
        "index": np.empty(problem.out_shape, np.int64),
    }
    for node, bind in (
        (session.get_inputs(), binding.bind_input),
        (session.get_outputs(), binding.bind_output),
    ):
        for name in (value.name for value in node):
            array = arrays[name]
            bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def call(keep: object = arrays) -> np.ndarray:
        session.run_with_iobinding(binding)
        return arrays["y"]

    return call


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result


def _model(problem: Problem, work: str) -> object:
    outputs = ["y", "index"] if work == "argmax" else ["y"]
    if problem.mode == "global":
        node = _global_node(problem)
    else:
        pads = [*problem.padding, *problem.padding]
        where = {"kernel_shape": problem.window, "strides": problem.stride, "pads": pads}
        if problem.op == "max":
            node = helper.make_node("MaxPool", ["x"], outputs, dilations=problem.dilation, **where)
        else:
            node = helper.make_node("AveragePool", ["x"], outputs, count_include_pad=1, **where)
    element = TYPES[problem.type]
    types = {"x": element, "y": element, "index": TensorProto.INT64}
    shapes = {"x": problem.shape, "y": problem.out_shape, "index": problem.out_shape}

    def value(name: str) -> object:
        return helper.make_tensor_value_info(name, types[name], shapes[name])

    graph = helper.make_graph([node], "pool", [value("x")], [value(name) for name in outputs])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )


def _global_node(problem: Problem) -> object:
    if problem.channels == "first":
        name = "GlobalMaxPool" if problem.op == "max" else "GlobalAveragePool"
        return helper.make_node(name, ["x"], ["y"])
    name = "ReduceMax" if problem.op == "max" else "ReduceMean"
    return helper.make_node(name, ["x"], ["y"], axes=problem.axes, keepdims=1)
