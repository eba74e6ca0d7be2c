"""How connections end: codes and reasons each way, and nothing lost before the end."""

from __future__ import annotations

import asyncio

import pytest

from iris_e2e.peer import MAX_CODE, connect, pattern

CODES = [0, 77, MAX_CODE]


@pytest.fixture
def address(lab):
    return lab.iris.address("no-alpn")


@pytest.mark.parametrize("code", CODES)
async def test_the_peer_closes(lab, address, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        peer.close(code, "enough of it")
        closed = await asyncio.to_thread(lab.component.event, "closed", connection=control.connection)
    assert (closed["by"], closed["code"], closed["reason"]) == ("application", code, "enough of it")


@pytest.mark.parametrize("code", CODES)
async def test_the_component_closes(lab, address, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        control.order(f"close {code} enough of it")
        closed = await peer.until_closed()
    assert closed.frame_type is None, "an application close"
    assert (closed.error_code, closed.reason_phrase) == (code, "enough of it")


@pytest.mark.parametrize(("size", "times"), [(100, 40), (60_000, 40), (2 << 20, 10)])
async def test_a_last_response_and_a_close_at_once(lab, address, measured, size, times):
    """The component sends, finishes, and closes when all is acknowledged: whole response and code arrive, every time."""
    whole = pattern(size)
    for n in range(times):
        async with connect(address, **lab.peer()) as peer:
            stream = peer.open().send(f"last {size} 77\n", end=True)
            closed = await peer.until_closed()
            assert (closed.error_code, closed.reason_phrase) == (77, "done"), f"run {n}"
            assert stream.ended and bytes(stream.data) == whole, f"run {n}: {stream.received} of {size} bytes"
    measured(f"{size} bytes, whole and with code", times, f"of {times}")


async def test_a_connection_is_counted_and_recorded(lab, address):
    since, before = lab.iris.mark, lab.iris.metrics()
    async with connect(address, **lab.peer()) as peer:
        await peer.echo("counted")
        during = lab.iris.metrics()
        labels = {"component": "no-alpn", "transport": "quic"}
        assert during.value("iris_connections_total", result="established", **labels) == \
            before.value("iris_connections_total", result="established", **labels) + 1
        assert during.value("iris_connections_active", **labels) >= 1
        peer.close(5, "counted")
        record = lab.iris.message("connection ended", since=since, component="no-alpn", code=5)
    assert record["reason"] == "peer" and record["upstream_reason"] == "far_side"
    assert record["sni"] == "stargate-0.stargate.example.com"
    after = lab.iris.metrics()
    assert after.value("iris_connection_closes_total", component="no-alpn", reason="peer") == \
        before.value("iris_connection_closes_total", component="no-alpn", reason="peer") + 1
    assert after.value("iris_streams_total", component="no-alpn") > before.value("iris_streams_total", component="no-alpn")
