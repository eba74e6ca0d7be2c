"""Watches that live long, quiet and busy. They began before all other tests."""

from __future__ import annotations

import time

from iris_e2e.registration_fixtures import QUIET_SECONDS


def test_a_quiet_watch_outlives_every_default(quiet_watch, measured):
    watching, registry, iris = quiet_watch.watching, quiet_watch.registry, quiet_watch.iris
    watching.until(2, timeout=QUIET_SECONDS + 30)
    quiet = watching.arrived[1] - watching.arrived[0]
    measured("quiet for", quiet, "s")
    assert quiet > QUIET_SECONDS * 0.95
    assert registry.count("connected") == 1 and registry.count("cancelled") == 0
    assert iris.metrics().value("iris_connections_active", component="registration", transport="tls") == 1
    assert iris.metrics().sum("iris_connection_closes_total") == 0
    # No timer is armed for it: whoever carries it slept from near the beginning of the quiet to near its end.
    assert len(quiet_watch.wakes) == 2 and quiet_watch.wakes[0], quiet_watch.wakes
    assert quiet_watch.wakes[0] == quiet_watch.wakes[1]
    began = time.monotonic()
    watching.cancel()
    registry.event("cancelled")
    measured("cancelled at the backend after", (time.monotonic() - began) * 1e3, "ms")


def test_a_busy_watch_lives_on(busy_watch, measured):
    busy_watch.until(len(busy_watch.arrived) + 3)
    streamed = busy_watch.arrived[-1] - busy_watch.began
    measured("streamed for", streamed, "s")
    measured("snapshots", len(busy_watch.arrived), "")
    assert len(busy_watch.arrived) > streamed, "five a second were sent, and none was lost"
