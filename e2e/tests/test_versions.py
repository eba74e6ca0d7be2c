"""A TLS peer on a loopback port and the reverse: a version mismatch in milliseconds, not a timeout."""

from __future__ import annotations

import asyncio

from iris_e2e.peer import refused, serve

PROMPT = 1.0


async def test_a_tls_peer_on_a_loopback_listener(lab, measured):
    refusal = await refused(lab.iris.address("any"), **lab.peer())
    measured("told after", refusal.seconds * 1e3, "ms")
    assert "version" in refusal.closed.reason_phrase
    assert refusal.seconds < PROMPT


async def test_a_tls_peer_on_a_component(lab, measured):
    refusal = await refused(lab.component.address, **lab.peer())
    measured("told after", refusal.seconds * 1e3, "ms")
    assert "version" in refusal.closed.reason_phrase
    assert refusal.seconds < PROMPT


async def test_a_loopback_caller_on_a_secured_listener(lab, name, measured):
    call = lab.start_caller(name, lab.iris.address("no-alpn"), server_name="stargate")
    failed = await asyncio.to_thread(call.event, "failed")
    measured("told after", failed["milliseconds"], "ms")
    assert failed["by"] == "version"
    assert failed["milliseconds"] < PROMPT * 1e3


async def test_a_loopback_caller_on_a_foreign_server(lab, name, measured):
    async with serve(lab.pki.server) as server:
        call = lab.start_caller(name, server.address, server_name="server.example.com")
        failed = await asyncio.to_thread(call.event, "failed")
        measured("told after", failed["milliseconds"], "ms")
        assert failed["by"] == "version"
        assert failed["milliseconds"] < PROMPT * 1e3
        assert server.attempts == 0
