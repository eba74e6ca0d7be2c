"""Processes that die: cut messages never look whole."""

from __future__ import annotations

import asyncio
import time

from conftest import ingress
from iris_e2e.peer import connect, pattern
from iris_e2e.processes import SIGTERM, join


async def test_a_component_that_dies_in_mid_message(lab, name, measured):
    """After 100 KB of 1 MB: a reset or the end of the connection, never a clean end of the stream."""
    component = lab.start_component(f"{name}-component")
    iris = lab.start_iris(name, {
        "timeouts": {"connect": "1s", "loopback_idle": "2s"},
        "listeners": [ingress("dying", alpn=[])],
        "upstreams": [{"name": "component", "dial": f"quic+plaintext://{join(component.address)}"}],
    })
    async with connect(iris.address("dying"), **lab.peer()) as peer:
        stream = peer.open().send("part 100000\n", end=True)
        await stream.to_bytes(100_000)
        assert bytes(stream.data) == pattern(100_000) and not stream.over
        component.kill()
        begun = time.monotonic()
        try:
            await peer.until(lambda: stream.over, "the stream to be cut", 15)
        except ConnectionError:
            pass  # The whole connection went, which is as loud.
        measured("told after, with an idle timeout of 2 s", time.monotonic() - begun, "s")
        assert not stream.ended, "a cut message looks whole"
        assert stream.reset_code is not None or peer.closed is not None
    await asyncio.to_thread(iris.message, "connection ended", component="dying")


async def test_a_peer_that_dies_in_mid_message(lab, name):
    """The other way round: the component never sees a clean end."""
    iris = lab.start_iris(name, {
        "timeouts": {"idle": "2s", "keep_alive": "500ms"},
        "listeners": [ingress("dying", alpn=[])],
        "upstreams": [{"name": "component", "dial": f"quic+plaintext://{join(lab.component.address)}"}],
    })
    async with connect(iris.address("dying"), **lab.peer()) as peer:
        connection = (await peer.control()).connection
        stream = peer.open().send(b"sink\n" + pattern(100_000))
        await peer.until(lambda: stream.buffered == 0, "the data to be taken")
        # Gone without a word: its socket is closed, no packet is sent any more.
        peer._transport.close()
        peer.transmit = lambda: None
        peer._quic._close_end()
        closed = await asyncio.to_thread(lab.component.event, "closed", connection=connection)
    events = [line for line in lab.component.lines
              if line.get("connection") == connection and line.get("stream") == stream.id]
    assert not any(line["event"] == "end" for line in events), "a cut message looks whole"
    assert closed["event"] == "closed"


async def test_iris_is_asked_to_stop(lab, name, measured):
    """SIGTERM: nothing new, what runs may finish, then a close with a code, and exit code 0."""
    iris = lab.start_iris(name, {
        "timeouts": {"drain": "1s"},
        "listeners": [ingress("draining", alpn=[])],
        "upstreams": [{"name": "component", "dial": f"quic+plaintext://{join(lab.component.address)}"}],
    })
    async with connect(iris.address("draining"), **lab.peer()) as peer:
        await peer.echo()
        iris.signal(SIGTERM)
        begun = time.monotonic()
        closed = await peer.until_closed(15)
        measured("closed after, with a drain of 1 s", time.monotonic() - begun, "s")
        assert closed.frame_type is None and closed.error_code != 0, "a close code of its own"
        assert closed.reason_phrase, "with a reason"
    assert await asyncio.to_thread(iris.process.wait, 10) == 0
