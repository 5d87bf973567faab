"""Pooling over any number of axes, forward and differentiated, with one exact definition.

>>> import numpy as np, ndpool
>>> ndpool.max_pool(np.arange(16.0).reshape(4, 4), (2, 2))
array([[ 5.,  7.],
       [13., 15.]])

Windowed: max_pool, min_pool, avg_pool, smooth_max_pool, lp_pool. With ``global_`` or ``adaptive_``
before the name: over whole axes, or to a given number of outputs. max_unpool puts values back.
ndpool.torch, ndpool.jax and ndpool.mygrad do the same on the arrays of those libraries.
"""

from __future__ import annotations

from ._config import get_num_threads, set_num_threads, show_config
from ._core import version as _version
from ._errors import PoolError
from ._operations import (
    adaptive_avg_pool,
    adaptive_lp_pool,
    adaptive_max_pool,
    adaptive_min_pool,
    adaptive_smooth_max_pool,
    avg_pool,
    global_avg_pool,
    global_lp_pool,
    global_max_pool,
    global_min_pool,
    global_smooth_max_pool,
    lp_pool,
    max_pool,
    min_pool,
    smooth_max_pool,
)
from ._receptive_field import Field, receptive_field
from ._unpool import max_unpool

__version__ = _version()

__all__ = [
    "Field",
    "PoolError",
    "adaptive_avg_pool",
    "adaptive_lp_pool",
    "adaptive_max_pool",
    "adaptive_min_pool",
    "adaptive_smooth_max_pool",
    "avg_pool",
    "get_num_threads",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_smooth_max_pool",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
    "receptive_field",
    "set_num_threads",
    "show_config",
    "smooth_max_pool",
]
