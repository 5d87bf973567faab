"""Settings of all tests: hypothesis draws the same examples in every run, and prints its seed."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ndpool",
    deadline=None,
    derandomize="NDPOOL_TEST_SEED" not in os.environ,
    max_examples=int(os.environ.get("NDPOOL_TEST_EXAMPLES", "150")),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("ndpool")
