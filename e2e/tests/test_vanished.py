"""A peer that vanishes: no FIN, no RST, not a packet any more. It lives in a network namespace whose link goes down."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iris_e2e.processes import join
from iris_e2e.registration import SERVER_NAME

# Documentation addresses (RFC 5737): nobody else has them.
HERE, THERE = "198.51.100.1", "198.51.100.2"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """A namespace with a link to ours."""
    namespace, near, far = f"iris-e2e-{os.getpid()}", f"ie{os.getpid() % 10**8}", "far"
    ip("netns", "add", namespace)
    try:
        ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", namespace)
        ip("addr", "add", f"{HERE}/30", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", namespace, "addr", "add", f"{THERE}/30", "dev", far)
        ip("-n", namespace, "link", "set", far, "up")
        yield namespace
    finally:
        subprocess.run(["ip", "link", "del", near], capture_output=True)
        ip("netns", "del", namespace)


def until_quiet(port: int) -> None:
    """Until an established connection of this local port has all that was sent acknowledged: its timer is keep-alive's."""
    deadline = time.monotonic() + 20
    while True:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        # proc(5): local address, state (1: established), timer (2: keep-alive).
        if any(int(row[1].partition(":")[2], 16) == port and row[3] == "01" and row[5].startswith("02:") for row in rows):
            return
        assert time.monotonic() < deadline, "no quiet connection"
        time.sleep(0.05)


def test_a_peer_that_vanishes_is_found_by_keep_alive(lab, registration, elsewhere, name, measured):
    registry = registration.registry
    tls = {"identities": ["edge"], "alpn": ["h2"]}
    iris = lab.start_iris(name, {
        # Probed after a second of silence, and three more times, a second apart.
        "transport": {"tcp_keep_alive": "1s"},
        "listeners": [{"name": "in", "listen": f"tls://{HERE}:0", "tls": tls, "routes": [{"upstream": "registry"}]}],
        "upstreams": [{"name": "registry", "dial": f"tcp://{join(registry.address)}"}],
    })
    since = registry.mark
    peer = subprocess.Popen(
        ["ip", "netns", "exec", elsewhere, "openssl", "s_client", "-connect", join(iris.address("in")), "-servername",
         SERVER_NAME, "-alpn", "h2", "-quiet", "-CAfile", str(lab.pki.authority.bundle)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        connection = registry.event("connected", since=since)["connection"]
        # What is on its way is sent again and again for a quarter of an hour, and no probe is sent meanwhile.
        until_quiet(iris.address("in")[1])
        ip("-n", elsewhere, "link", "set", "far", "down")
        began = time.monotonic()
        iris.message("connection ended", component="in", reason="idle", timeout=60)
        measured("found after", time.monotonic() - began, "s")
        registry.event("disconnected", since=since, connection=connection)
        assert iris.metrics().value("iris_connection_closes_total", component="in", reason="idle") == 1
        assert iris.metrics().value("iris_connections_active", component="in", transport="tls") == 0
    finally:
        peer.kill()
        peer.wait(10)
