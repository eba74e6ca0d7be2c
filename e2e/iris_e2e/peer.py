"""QUIC peers made of aioquic: they record what happens, and do exactly what a test says."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from .pki import Identity

MAX_CODE = 2**62 - 1
# The bytes that both ends can make by themselves: byte n is n modulo 251.
PERIOD = bytes(range(251))
# Sockets with the kernel's default buffer drop what a burst from a faster peer brings.
SOCKET_BUFFER = 4 * 1024 * 1024


def pattern(length: int) -> bytes:
    return (PERIOD * (length // 251 + 1))[:length]


class Refused(Exception):
    """The handshake came to nothing."""

    def __init__(self, closed: events.ConnectionTerminated | None, seconds: float) -> None:
        super().__init__(f"refused after {seconds * 1e3:.1f} ms: {closed}")
        self.closed = closed
        self.seconds = seconds

    @property
    def alert(self) -> int | None:
        """The TLS alert, when it was one."""
        code = self.closed.error_code if self.closed else 0
        return code - 0x100 if 0x100 <= code < 0x200 else None


class Stream:
    """One stream as this end sees it. Times are of `time.monotonic`."""

    def __init__(self, peer: Peer, identifier: int) -> None:
        self.peer = peer
        self.id = identifier
        self.data = bytearray()
        self.keeps = True
        self.received = 0
        self.adler = 1
        self.ended = False
        self.reset_code: int | None = None
        self.stop_code: int | None = None
        self.event_at = 0.0

    # what this end does

    def send(self, data: bytes | str, *, end: bool = False) -> Stream:
        data = data.encode() if isinstance(data, str) else data
        self.peer._quic.send_stream_data(self.id, data, end_stream=end)
        self.peer.transmit()
        return self

    def finish(self) -> Stream:
        return self.send(b"", end=True)

    def reset(self, code: int) -> float:
        """Resets the sending part; says when."""
        self.peer._quic.reset_stream(self.id, code)
        now = time.monotonic()
        self.peer.transmit()
        return now

    def stop(self, code: int) -> float:
        """Asks the other end to stop; says when."""
        self.peer._quic.stop_stream(self.id, code)
        now = time.monotonic()
        self.peer.transmit()
        return now

    async def send_all(self, data: bytes, *, end: bool = True) -> None:
        """Sends much, with a bounded part of it buffered here."""
        for at in range(0, len(data), 1 << 20):
            await self.peer.until(lambda: self.buffered < 2 << 20 or self.stop_code is not None, f"room on {self.id}")
            if self.stop_code is not None:
                return
            self.send(data[at:at + (1 << 20)])
        if end:
            self.finish()

    @property
    def buffered(self) -> int:
        """Bytes handed to `send` that are not acknowledged yet."""
        stream = self.peer._quic._streams.get(self.id)
        return len(stream.sender._buffer) if stream else 0

    @property
    def blocked(self) -> bool:
        """Nothing more can be sent until the other end reads."""
        stream = self.peer._quic._streams.get(self.id)
        return bool(stream and stream.sender.highest_offset >= stream.max_stream_data_remote > 0)

    # what it waits for

    async def to_end(self, timeout: float = 20) -> bytes:
        """The whole, when it ends clean."""
        await self.peer.until(lambda: self.over, f"the end of stream {self.id}", timeout)
        assert self.ended, f"stream {self.id} was reset with {self.reset_code} after {self.received} bytes"
        return bytes(self.data)

    async def to_reset(self, timeout: float = 20) -> int:
        """The code, when it is reset."""
        await self.peer.until(lambda: self.over, f"the reset of stream {self.id}", timeout)
        assert self.reset_code is not None, f"stream {self.id} ended clean after {self.received} bytes"
        return self.reset_code

    async def to_stop(self, timeout: float = 20) -> int:
        await self.peer.until(lambda: self.stop_code is not None, f"a stop of stream {self.id}", timeout)
        assert self.stop_code is not None
        return self.stop_code

    async def to_bytes(self, count: int, timeout: float = 20) -> None:
        await self.peer.until(lambda: self.received >= count or self.over, f"{count} bytes on {self.id}", timeout)
        assert self.received >= count, f"stream {self.id}: {self.received} of {count} bytes"

    async def answer(self, timeout: float = 20) -> str:
        return (await self.to_end(timeout)).decode()

    @property
    def over(self) -> bool:
        return self.ended or self.reset_code is not None

    def on_data(self, data: bytes, end: bool) -> None:
        if self.keeps:
            self.data += data
        self.received += len(data)
        self.adler = zlib.adler32(data, self.adler)
        self.ended = self.ended or end
        self.event_at = time.monotonic()


class Peer(QuicConnectionProtocol):
    """One end of a connection."""

    def __init__(self, quic: QuicConnection, stream_handler: object = None) -> None:
        super().__init__(quic)
        self.streams: dict[int, Stream] = {}
        self.accepted: asyncio.Queue[Stream] = asyncio.Queue()
        self.datagrams: list[bytes] = []
        self.handshake: events.HandshakeCompleted | None = None
        self.closed: events.ConnectionTerminated | None = None
        self.closed_at = 0.0
        self.on_stream: Callable[[Stream], None] | None = None
        self._withheld: set[int] = set()
        self._changed: set[asyncio.Future[None]] = set()
        # A peer that does not read grants no credit; aioquic always reads, so credit is withheld here.
        grant = quic._write_stream_limits

        def grant_unless_withheld(builder, space, stream):  # type: ignore[no-untyped-def]
            if stream.stream_id not in self._withheld:
                grant(builder=builder, space=space, stream=stream)

        quic._write_stream_limits = grant_unless_withheld  # type: ignore[method-assign]

    def open(self, *, uni: bool = False) -> Stream:
        identifier = self._quic.get_next_available_stream_id(is_unidirectional=uni)
        # aioquic takes the identifier with the first data only.
        stream = self._stream(identifier)
        self._quic.send_stream_data(identifier, b"")
        return stream

    def withhold(self, stream: Stream) -> None:
        """Grants no more credit on this stream, like a reader that is busy elsewhere."""
        self._withheld.add(stream.id)

    def datagram(self, data: bytes) -> None:
        self._quic.send_datagram_frame(data)
        self.transmit()

    async def until(self, holds: Callable[[], bool], what: str, timeout: float = 20) -> None:
        """Waits on state; fails when it takes too long, or when the connection ends first."""
        deadline = time.monotonic() + timeout
        while not holds():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError(f"waited {timeout} s for {what}")
            if self.closed is not None:
                raise ConnectionError(f"closed while waiting for {what}: {self.closed}")
            waiter = asyncio.get_running_loop().create_future()
            self._changed.add(waiter)
            try:
                await asyncio.wait_for(waiter, min(remaining, 1))
            except asyncio.TimeoutError:
                pass
            finally:
                self._changed.discard(waiter)

    async def accept(self, timeout: float = 20) -> Stream:
        return await asyncio.wait_for(self.accepted.get(), timeout)

    async def until_closed(self, timeout: float = 20) -> events.ConnectionTerminated:
        await self.until(lambda: self.closed is not None, "a close", timeout)
        assert self.closed is not None
        return self.closed

    async def echo(self, text: str = "ping", timeout: float = 20) -> float:
        """One round trip through the component, in seconds."""
        begun = time.monotonic()
        answer = await self.open().send(f"echo\n{text}", end=True).answer(timeout)
        assert answer == text, answer
        return time.monotonic() - begun

    async def control(self) -> Control:
        """Orders for the guest on the other end, and what happens there."""
        stream = self.open().send("control\n")
        control = Control(stream)
        # One order that comes back: from here on no event is missed.
        stream.send("sync\n")
        control.connection = (await control.event("problem", order="sync"))["connection"]
        return control

    def quic_event_received(self, event: events.QuicEvent) -> None:
        if isinstance(event, events.HandshakeCompleted):
            self.handshake = event
        elif isinstance(event, events.StreamDataReceived):
            self._stream(event.stream_id).on_data(event.data, event.end_stream)
        elif isinstance(event, events.StreamReset):
            stream = self._stream(event.stream_id)
            stream.reset_code, stream.event_at = event.error_code, time.monotonic()
        elif isinstance(event, events.StopSendingReceived):
            stream = self._stream(event.stream_id)
            stream.stop_code, stream.event_at = event.error_code, time.monotonic()
        elif isinstance(event, events.DatagramFrameReceived):
            self.datagrams.append(event.data)
        elif isinstance(event, events.ConnectionTerminated):
            self.closed, self.closed_at = self.closed or event, self.closed_at or time.monotonic()
        self._wake()

    def datagram_received(self, data, addr) -> None:  # type: ignore[no-untyped-def]
        super().datagram_received(data, addr)
        # aioquic tells of a close only when it has drained, three probe timeouts after it came.
        if self.closed is None and self._quic._close_event is not None:
            self.closed, self.closed_at = self._quic._close_event, time.monotonic()
        # Acknowledgements make no event and yet free what a sender waits for.
        self._wake()

    def _wake(self) -> None:
        for waiter in list(self._changed):
            if not waiter.done():
                waiter.set_result(None)

    def _stream(self, identifier: int) -> Stream:
        stream = self.streams.get(identifier)
        if stream is None:
            stream = self.streams[identifier] = Stream(self, identifier)
            ours = (identifier & 1) == (0 if self._quic.configuration.is_client else 1)
            if not ours:
                self.accepted.put_nowait(stream)
                if self.on_stream is not None:
                    self.on_stream(stream)
        return stream


class Control:
    """The `control` stream of a guest."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.seen: list[dict] = []
        # Which one it is for the guest, whose output has it in every line.
        self.connection = 0

    def order(self, text: str) -> float:
        now = time.monotonic()
        self.stream.send(text + "\n")
        return now

    async def event(self, name: str, timeout: float = 20, **fields: object) -> dict:
        """The first event of this name and with these fields, seen already or to come; each is handed out once."""
        found: list[dict] = []

        def look() -> bool:
            self._parse()
            for event in self.seen:
                if event["event"] == name and all(event.get(key) == value for key, value in fields.items()):
                    found.append(event)
                    self.seen.remove(event)
                    return True
            return False

        try:
            await self.stream.peer.until(look, f"event {name} {fields}", timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; there were {self.seen}") from None
        return found[0]

    def _parse(self) -> None:
        *lines, rest = bytes(self.stream.data).split(b"\n")
        self.stream.data = bytearray(rest)
        self.seen += [json.loads(line) for line in lines]


def configuration(*, client: bool, ca: Path | None = None, alpn: list[str] | None = None, server_name: str | None = None,
                  identity: Identity | None = None, datagrams: bool = True, idle: float = 30) -> QuicConfiguration:
    made = QuicConfiguration(
        is_client=client,
        alpn_protocols=alpn,
        server_name=server_name,
        idle_timeout=idle,
        max_datagram_frame_size=65536 if datagrams else None,
        max_datagram_size=1350,
        verify_mode=ssl.CERT_REQUIRED if client else ssl.CERT_NONE,
    )
    if ca is not None:
        made.load_verify_locations(cafile=str(ca))
    if identity is not None:
        made.load_cert_chain(str(identity.certificate), str(identity.key))
    return made


@asynccontextmanager
async def connect(address: tuple[str, int], *, handshake_timeout: float = 10,
                  settings: QuicConfiguration | None = None, **options: object) -> AsyncIterator[Peer]:
    """A client connection; `options` are those of `configuration`. Raises `Refused`."""
    quic = QuicConnection(configuration=settings or configuration(client=True, **options))  # type: ignore[arg-type]
    begun = time.monotonic()
    loop = asyncio.get_running_loop()
    transport, peer = await loop.create_datagram_endpoint(lambda: Peer(quic), sock=bound_socket(address[0]))
    try:
        peer.connect(address)
        try:
            await peer.until(lambda: peer.handshake is not None, "a handshake", handshake_timeout)
        except (ConnectionError, TimeoutError):
            raise Refused(peer.closed, time.monotonic() - begun) from None
        yield peer
    finally:
        peer.close()
        transport.close()


async def refused(address: tuple[str, int], *, within: float = 10, **options: object) -> Refused:
    """Connects where no connection may come about. A TLS 1.3 client may believe for a moment that there is one: the
    server judges a client's certificate last."""
    begun = time.monotonic()
    try:
        async with connect(address, handshake_timeout=within, **options) as peer:
            closed = await peer.until_closed(within)
            return Refused(closed, peer.closed_at - begun)
    except Refused as refusal:
        return refusal


@asynccontextmanager
async def serve(identity: Identity, *, alpn: list[str] | None = None, ask_certificate: bool = False,
                on_stream: Callable[[Stream], None] | None = None, host: str = "127.0.0.1",
                **options: object) -> AsyncIterator[Server]:
    """A server on a free port; `options` are those of `configuration`."""
    server = Server(configuration(client=False, alpn=alpn, identity=identity, **options),  # type: ignore[arg-type]
                    on_stream, ask_certificate)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: server.protocol, sock=bound_socket(host))
    server.address = transport.get_extra_info("sockname")[:2]
    try:
        yield server
    finally:
        server.protocol.close()


class Server:
    """A listening aioquic and the connections that it has."""

    def __init__(self, settings: QuicConfiguration, on_stream: Callable[[Stream], None] | None,
                 ask_certificate: bool) -> None:
        self.address: tuple[str, int] = ("", 0)
        self.connections: asyncio.Queue[Peer] = asyncio.Queue()
        self.attempts = 0

        def create(quic: QuicConnection, stream_handler: object = None) -> Peer:
            self.attempts += 1
            peer = Peer(quic)
            peer.on_stream = on_stream
            if ask_certificate:
                initialize = quic._initialize

                def initialize_and_ask(peer_cid: bytes) -> None:
                    initialize(peer_cid)
                    # aioquic has this for tests only, which this is one of.
                    quic.tls._request_client_certificate = True

                quic._initialize = initialize_and_ask  # type: ignore[method-assign]
            self.connections.put_nowait(peer)
            return peer

        self.protocol = QuicServer(configuration=settings, create_protocol=create)

    async def accept(self, timeout: float = 10) -> Peer:
        """The next connection, its handshake done."""
        peer = await asyncio.wait_for(self.connections.get(), timeout)
        await peer.until(lambda: peer.handshake is not None, "a handshake", timeout)
        return peer


def service(stream: Stream) -> None:
    """Serves a stream as a guest does, by its first line: `echo`, `sink` and `source N`."""

    async def run() -> None:
        await stream.peer.until(lambda: b"\n" in stream.data or stream.over, "a first line")
        line, _, rest = bytes(stream.data).partition(b"\n")
        verb, *arguments = line.decode().split(" ")
        del stream.data[:len(line) + 1]
        if verb == "echo":
            stream.send(await stream.to_end(), end=True)
        elif verb == "sink":
            stream.keeps = False
            stream.adler, counted = zlib.adler32(rest), len(line) + 1
            await stream.to_end(120)
            stream.send(f"{stream.received - counted} {stream.adler}\n", end=True)
        elif verb == "source":
            await stream.send_all(pattern(int(arguments[0])))

    async def guarded() -> None:
        try:
            await run()
        except (AssertionError, ConnectionError, RuntimeError, TimeoutError):
            pass  # The test that cut the stream short knows.

    task = asyncio.get_running_loop().create_task(guarded())
    stream.peer.__dict__.setdefault("_services", set()).add(task)


def bound_socket(host: str) -> socket.socket:
    v6 = ipaddress.ip_address(host).version == 6
    made = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)
    made.setblocking(False)
    made.bind((host, 0))
    return made
