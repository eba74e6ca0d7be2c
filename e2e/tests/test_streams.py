"""Streams: kinds and directions, ends and codes, blocked relays, limits and bulk."""

from __future__ import annotations

import time
import zlib

import pytest

from iris_e2e.peer import MAX_CODE, Peer, Stream, connect, pattern

CODES = [0, 7, MAX_CODE]
# Generous for two noisy cores and a peer in Python; a relay that does not notice takes for ever.
PROMPT = 0.5


@pytest.fixture
def address(lab):
    return lab.iris.address("no-alpn")


async def test_bidirectional_streams(lab, address):
    async with connect(address, **lab.peer()) as peer:
        streams = [peer.open().send(f"echo\nnumber {n}", end=True) for n in range(40)]
        for n, stream in enumerate(streams):
            assert await stream.answer() == f"number {n}"
        assert [stream.id for stream in streams] == [4 * n for n in range(40)]


async def test_unidirectional_streams(lab, address):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        data = pattern(100_000)
        for n in range(8):
            stream = peer.open(uni=True).send(b"sink\n" + data, end=True)
            end = await control.event("end", stream=stream.id)
            assert (end["bytes"], end["adler32"]) == (len(data), zlib.adler32(data))


async def test_streams_that_the_component_opens(lab, address):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        for n in range(4):
            control.order(f"open bidi request {n}")
            opened = await control.event("opened")
            stream = await peer.accept()
            # Stream n here is stream n there.
            assert stream.id == opened["stream"] == 4 * n + 1
            await stream.to_bytes(len(f"request {n}\n"))
            stream.send(f"response {n}", end=True)
            end = await control.event("end", stream=stream.id)
            assert end["text"] == f"response {n}"
            control.order(f"finish {stream.id}")
            assert await stream.to_end() == f"request {n}\n".encode()
            await control.event("acknowledged", stream=stream.id)
        for n in range(4):
            control.order(f"open uni event {n}")
            opened = await control.event("opened")
            control.order(f"finish {opened['stream']}")
            stream = await peer.accept()
            assert stream.id == opened["stream"] == 4 * n + 3
            assert await stream.to_end() == f"event {n}\n".encode()


async def test_half_close_by_the_peer(lab, address):
    """The peer is done; the component answers long after."""
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = peer.open().send("part 10\n", end=True)
        assert (await control.event("end", stream=stream.id))["bytes"] == 0
        await stream.to_bytes(10)
        control.order(f"send {stream.id} 1000")
        await stream.to_bytes(1010)
        assert not stream.over
        control.order(f"finish {stream.id}")
        assert await stream.to_end() == pattern(1010)


async def test_half_close_by_the_component(lab, address):
    """The component is done; what the peer sends later still arrives."""
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = peer.open().send("early 10\n")
        assert await stream.to_end() == pattern(10)
        stream.send(b"later")
        await peer.echo()
        stream.send(b" and last", end=True)
        end = await control.event("end", stream=stream.id)
        assert end["text"] == "later and last"


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("uni", [False, True], ids=["bidi", "uni"])
async def test_the_peer_resets(lab, address, uni, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = peer.open(uni=uni).send("hold\n")
        await control.event("held", stream=stream.id)
        stream.reset(code)
        assert (await control.event("reset", stream=stream.id))["code"] == code
        if not uni:
            # Each direction by itself: the other one still works, and ends clean.
            control.order(f"send {stream.id} 100")
            control.order(f"finish {stream.id}")
            assert await stream.to_end() == pattern(100)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("uni", [False, True], ids=["bidi", "uni"])
async def test_the_component_resets(lab, address, uni, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await opened_by_component(peer, control, uni)
        control.order(f"reset {stream.id} {code}")
        assert await stream.to_reset() == code
        if not uni:
            stream.send(b"still open", end=True)
            assert (await control.event("end", stream=stream.id))["text"] == "still open"


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("uni", [False, True], ids=["bidi", "uni"])
async def test_the_peer_stops(lab, address, uni, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await opened_by_component(peer, control, uni)
        stream.stop(code)
        assert (await control.event("stopped", stream=stream.id))["code"] == code
        # The reset that answers a stop carries its code.
        assert await stream.to_reset() == code
        if not uni:
            stream.send(b"still open", end=True)
            assert (await control.event("end", stream=stream.id))["text"] == "still open"


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("uni", [False, True], ids=["bidi", "uni"])
async def test_the_component_stops(lab, address, uni, code):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = peer.open(uni=uni).send("hold\n")
        await control.event("held", stream=stream.id)
        control.order(f"stop {stream.id} {code}")
        assert await stream.to_stop() == code
        if not uni:
            control.order(f"send {stream.id} 100")
            control.order(f"finish {stream.id}")
            assert await stream.to_end() == pattern(100)


async def test_streams_that_are_only_reset_or_stopped(lab, address):
    """With nothing sent before: they exist on the other side all the same, under the same identifier."""
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        for code in CODES:
            stream = peer.open()
            stream.reset(code)
            assert (await control.event("reset", stream=stream.id))["code"] == code
        await peer.echo()


async def test_the_peer_resets_while_the_relay_is_blocked(lab, address, measured):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await blocked_upwards(peer, control)
        begun = stream.reset(7)
        assert (await control.event("reset", stream=stream.id))["code"] == 7
        took = time.monotonic() - begun
        measured("seen after", took * 1e3, "ms")
        assert took < PROMPT
        await peer.echo()


async def test_the_component_stops_while_the_relay_is_blocked(lab, address, measured):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await blocked_upwards(peer, control)
        begun = control.order(f"stop {stream.id} 9")
        assert await stream.to_stop() == 9
        measured("seen after", (stream.event_at - begun) * 1e3, "ms")
        assert stream.event_at - begun < PROMPT
        await peer.echo()


async def test_the_component_resets_while_the_relay_is_blocked(lab, address, measured):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await blocked_downwards(peer)
        begun = control.order(f"reset {stream.id} 7")
        assert await stream.to_reset() == 7
        measured("seen after", (stream.event_at - begun) * 1e3, "ms")
        assert stream.event_at - begun < PROMPT
        await peer.echo()


async def test_the_peer_stops_while_the_relay_is_blocked(lab, address, measured):
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        stream = await blocked_downwards(peer)
        begun = stream.stop(9)
        assert (await control.event("stopped", stream=stream.id))["code"] == 9
        took = time.monotonic() - begun
        measured("seen after", took * 1e3, "ms")
        assert took < PROMPT
        assert await stream.to_reset() == 9
        await peer.echo()


async def test_ten_times_the_limit_cancelled_then_a_good_stream(lab, address, measured):
    async with connect(address, **lab.peer()) as peer:
        limit = peer._quic._remote_max_streams_bidi
        measured("stream limit", limit, "streams")
        assert limit > 0
        for _ in range(10):
            batch = []
            for _ in range(limit):
                stream = peer.open().send("flood\n")
                stream.reset(7)
                stream.stop(8)
                batch.append(stream)
            # As many at a time as the limit permits: a stream that waits for its turn must not be forgotten.
            await peer.until(lambda: all(stream.over for stream in batch), "the cancelled streams to end", 60)
        assert await peer.echo("good") < 5


async def test_unread_data_stopped_by_the_peer_then_a_whole_megabyte(lab, address):
    """What was on its way on stopped streams must not hold credit that the next stream needs."""
    async with connect(address, **lab.peer()) as peer:
        for _ in range(10):
            streams = [peer.open().send("flood\n", end=True) for _ in range(20)]
            for stream in streams:
                await stream.to_bytes(1)
                stream.stop(7)
            for stream in streams:
                assert await stream.to_reset() == 7
        stream = peer.open().send(f"source {1 << 20}\n", end=True)
        assert await stream.to_end() == pattern(1 << 20)


async def test_unread_data_stopped_by_the_component_then_a_whole_megabyte(lab, address):
    data = pattern(1 << 20)
    async with connect(address, **lab.peer()) as peer:
        control = await peer.control()
        for _ in range(10):
            streams = [peer.open().send(b"hold\n" + data[:50_000]) for _ in range(20)]
            for stream in streams:
                await control.event("held", stream=stream.id)
                control.order(f"stop {stream.id} 7")
            for stream in streams:
                assert await stream.to_stop() == 7
                control.order(f"finish {stream.id}")
                assert await stream.to_end() == b""
        stream = peer.open().send("sink\n")
        await stream.send_all(data)
        assert await stream.answer() == f"{len(data)} {zlib.adler32(data)}\n"


async def test_64_mib_through_one_stream(lab, address, measured):
    size = 64 << 20
    async with connect(address, **lab.peer()) as peer:
        begun = time.monotonic()
        stream = peer.open()
        stream.keeps = False
        stream.send(f"source {size}\n", end=True)
        await stream.to_end(170)
        took = time.monotonic() - begun
        assert stream.received == size
        assert stream.adler == zlib.adler32(pattern(size))
        measured("rate, as fast as the peer reads", size / took / (1 << 20), "MiB/s")


async def test_8_mib_the_other_way(lab, address, measured):
    data = pattern(8 << 20)
    async with connect(address, **lab.peer()) as peer:
        begun = time.monotonic()
        stream = peer.open().send("sink\n")
        await stream.send_all(data)
        assert await stream.answer(120) == f"{len(data)} {zlib.adler32(data)}\n"
        measured("rate, as fast as the peer writes", 8 / (time.monotonic() - begun), "MiB/s")


async def opened_by_component(peer: Peer, control, uni: bool) -> Stream:
    control.order(f"open {'uni' if uni else 'bidi'} hello")
    opened = await control.event("opened")
    stream = await peer.accept()
    assert stream.id == opened["stream"]
    await stream.to_bytes(len("hello\n"))
    return stream


async def blocked_upwards(peer: Peer, control) -> Stream:
    """A stream whose component reads nothing, filled until not a byte more fits anywhere on the way."""
    stream = peer.open().send("hold\n")
    await control.event("held", stream=stream.id)
    stream.send(bytes(16 << 20))
    await peer.until(lambda: stream.blocked, "the stream to fill up", 30)
    # Blocked and no credit on its way: a round trip later it still is.
    await peer.echo()
    await peer.until(lambda: stream.blocked, "the stream to fill up", 30)
    return stream


async def blocked_downwards(peer: Peer) -> Stream:
    """A stream whose peer reads nothing, with a component that would write for ever."""
    stream = peer.open()
    peer.withhold(stream)
    stream.send("flood\n")
    await peer.until(lambda: stream.received >= stream_window(peer, stream), "the stream to fill up", 30)
    return stream


def stream_window(peer: Peer, stream: Stream) -> int:
    return peer._quic._streams[stream.id].max_stream_data_local_sent
