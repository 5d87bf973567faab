"""TensorFlow, which on a CPU pools channels-last arrays only (global: any)."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import tensorflow as tf

from problem import FLOATS, Problem

PACKAGE = "tensorflow-cpu"


def setup(threads: int) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def supports(problem: Problem, work: str) -> bool:
    if problem.op not in ("max", "avg"):
        return False
    if problem.op == "avg" and problem.type not in FLOATS:
        return False
    if problem.mode == "global":
        return work == "forward"
    if problem.mode == "adaptive" or problem.channels != "last" or problem.dims != 2:
        return False
    if any(d != 1 for d in problem.dilation):
        return False
    # Neither the average nor the argmax takes padding that is given in numbers.
    return not any(problem.padding) or (problem.op == "max" and work != "argmax")


def prepare(problem: Problem, work: str) -> Callable[[], tf.Tensor]:
    x = _tensor(problem.x(), problem)
    if problem.mode == "global":
        reduce = tf.reduce_max if problem.op == "max" else tf.reduce_mean
        return lambda: reduce(x, problem.axes, keepdims=True)
    where = {
        "ksize": problem.spread(problem.window, 1),
        "strides": problem.spread(problem.stride, 1),
        "padding": "VALID",
    }
    ops = tf.raw_ops
    if problem.op == "avg":
        if work == "forward":
            return lambda: ops.AvgPool(value=x, **where)
        g = _tensor(problem.g(), problem)
        return lambda: ops.AvgPoolGrad(orig_input_shape=problem.shape, grad=g, **where)
    if work == "argmax":
        return lambda: ops.MaxPoolWithArgmax(input=x, **where)[0]
    if any(problem.padding):
        where["padding"] = "EXPLICIT"
        pads = problem.spread(problem.padding, 0)
        where["explicit_paddings"] = [pad for pad in pads for _ in range(2)]
    if work == "forward":
        return lambda: ops.MaxPool(input=x, **where)
    y, g = ops.MaxPool(input=x, **where), _tensor(problem.g(), problem)
    return lambda: ops.MaxPoolGrad(orig_input=x, orig_output=y, grad=g, **where)


def to_numpy(result: tf.Tensor, problem: Problem) -> np.ndarray:
    array = result.numpy()
    return array.view(np.uint16) if problem.type == "bf16" else array


def _tensor(array: np.ndarray, problem: Problem) -> tf.Tensor:
    return tf.constant(array.view(ml_dtypes.bfloat16) if problem.type == "bf16" else array)
