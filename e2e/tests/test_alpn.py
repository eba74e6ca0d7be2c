"""Application protocols: none, a custom one, and both on one listener."""

from __future__ import annotations

import pytest

from iris_e2e.peer import connect, refused

ALERT_NO_APPLICATION_PROTOCOL = 120


@pytest.mark.parametrize(("listener", "offered", "negotiated"), [
    ("no-alpn", None, None),
    ("custom-alpn", ["guest/1"], "guest/1"),
    ("custom-alpn", ["something", "guest/1"], "guest/1"),
    ("both", None, None),
    ("both", ["h3"], "h3"),
    ("both", ["unknown", "h3"], "h3"),
])
async def test_a_protocol_that_the_listener_takes(lab, listener, offered, negotiated):
    async with connect(lab.iris.address(listener), **lab.peer(alpn=offered)) as peer:
        assert peer.handshake.alpn_protocol == negotiated
        connected = await lab.told(peer)
    assert connected["alpn"] == negotiated
    assert connected["offered"] == ([negotiated] if negotiated else []), "the component is offered the chosen one alone"


@pytest.mark.parametrize(("listener", "offered"), [
    ("no-alpn", ["h3"]),
    ("custom-alpn", None),
    ("custom-alpn", ["h3"]),
    ("both", ["unknown"]),
])
async def test_no_protocol_in_common(lab, measured, listener, offered):
    since, before = lab.iris.mark, lab.iris.failures(listener, "no_alpn")
    async with connect(lab.iris.address("both"), **lab.peer()) as neighbour:
        refusal = await refused(lab.iris.address(listener), **lab.peer(alpn=offered))
        assert refusal.alert == ALERT_NO_APPLICATION_PROTOCOL
        measured(f"refused on {listener}", refusal.seconds * 1e3, "ms")
        lab.iris.message("connection not established", since=since, component=listener, reason="no_alpn")
        assert lab.iris.failures(listener, "no_alpn") == before + 1
        await neighbour.echo()
