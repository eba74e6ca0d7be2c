"""Datagrams: both ways, as large as the narrower hop takes, and none where the peer takes none."""

from __future__ import annotations

from iris_e2e.peer import connect, pattern


async def test_datagrams_there_and_back(lab):
    async with connect(lab.iris.address("no-alpn"), **lab.peer()) as peer:
        await peer.echo()
        for n in range(50):
            peer.datagram(f"datagram {n}".encode())
            await peer.until(lambda: f"datagram {n}".encode() in peer.datagrams, f"datagram {n} to come back")


async def test_a_datagram_that_the_component_sends(lab):
    async with connect(lab.iris.address("no-alpn"), **lab.peer()) as peer:
        control = await peer.control()
        control.order("datagram unasked")
        await peer.until(lambda: b"unasked" in peer.datagrams, "a datagram of the component")
        control.order("datagram-of 1000")
        await peer.until(lambda: pattern(1000) in peer.datagrams, "a datagram of 1,000 bytes")


async def test_the_component_knows_the_size_that_fits(lab):
    async with connect(lab.iris.address("no-alpn"), **lab.peer()) as peer:
        size = (await lab.told(peer))["max_datagram_size"]
        # The loopback hop alone would take some 6,450 bytes; the secured hop's packets are the limit.
        assert size is not None and 1000 <= size <= 1500
        control = await peer.control()
        control.order(f"datagram-of {size}")
        await peer.until(lambda: pattern(size) in peer.datagrams, f"a datagram of {size} bytes")


async def test_a_peer_without_datagrams(lab):
    async with connect(lab.iris.address("no-alpn"), **lab.peer(datagrams=False)) as peer:
        assert (await lab.told(peer))["max_datagram_size"] is None
