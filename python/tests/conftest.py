"""Settings of all tests.

Hypothesis draws the same examples in every run, and prints its seed. Shells start commands in the
background with SIGINT ignored; tests send it, so it gets its usual meaning back.
"""

from __future__ import annotations

import os
import signal

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

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
