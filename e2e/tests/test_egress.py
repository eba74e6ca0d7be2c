"""A plaintext caller, Iris, and a foreign server."""

from __future__ import annotations

import asyncio

import pytest
from cryptography import x509

from iris_e2e.peer import MAX_CODE, pattern, serve, service
from iris_e2e.processes import join

NAME = "server.example.com"


def caller(lab, name, server, **options):
    """A caller of the listener that dials what the caller asks for."""
    options = {"server_name": NAME, "destination": join(server.address), **options}
    return lab.start_caller(name, lab.iris.address("any"), **options)


async def said(program, event, **fields):
    """An event of a program, waited for while this end keeps serving."""
    return await asyncio.to_thread(program.event, event, **fields)


@pytest.mark.parametrize(("spoken", "offered", "negotiated"), [
    (None, [], None),
    (["h3"], ["h3"], "h3"),
    (["b", "a"], ["a", "b"], None),
])
async def test_protocols_are_the_far_sides(lab, name, spoken, offered, negotiated):
    async with serve(lab.pki.server, alpn=spoken, on_stream=service) as server:
        call = caller(lab, name, server, alpn=offered)
        connected = await said(call, "connected")
        peer = await server.accept()
        assert connected["alpn"] == peer.handshake.alpn_protocol
        assert negotiated is None or connected["alpn"] == negotiated
        call.tell("open bidi echo")
        opened = await said(call, "opened")
        call.tell(f"finish {opened['stream']}")
        await said(call, "end", stream=opened["stream"])


async def test_streams_both_ways(lab, name):
    async with serve(lab.pki.server, on_stream=service) as server:
        call = caller(lab, name, server)
        peer = await server.accept()
        call.tell("open bidi sink")
        stream = (await said(call, "opened"))["stream"]
        call.tell(f"send {stream} 100000")
        call.tell(f"finish {stream}")
        end = await said(call, "end", stream=stream)
        assert end["text"].startswith("100000 ")
        # Streams of the server: stream n there is stream n here, in both directions.
        ours = peer.open().send("sink\n" + "x" * 1000, end=True)
        assert (await ours.answer()).startswith("1000 ")
        theirs = peer.open(uni=True).send("sink\nnews", end=True)
        assert (await said(call, "end", stream=theirs.id))["bytes"] == 4
        since = call.mark
        call.tell("open bidi source 300000")
        stream = (await said(call, "opened", since=since))["stream"]
        assert (await said(call, "end", stream=stream))["bytes"] == 300_000


@pytest.mark.parametrize("code", [0, 7, MAX_CODE])
async def test_resets_stops_and_closes(lab, name, code):
    async with serve(lab.pki.server) as server:
        call = caller(lab, name, server)
        peer = await server.accept()
        # The caller resets and stops.
        call.tell("open bidi first")
        stream = await peer.accept()
        await stream.to_bytes(6)
        call.tell(f"reset {stream.id} {code}")
        assert await stream.to_reset() == code
        call.tell(f"stop {stream.id} {code}")
        assert await stream.to_stop() == code
        # The server does.
        call.tell("open bidi second")
        stream = await peer.accept()
        await stream.to_bytes(7)
        stream.send(b"answer").reset(code)
        assert (await said(call, "reset", stream=stream.id))["code"] == code
        stream.stop(code)
        assert (await said(call, "stopped", stream=stream.id))["code"] == code
        peer.close(code, "enough")
        closed = await said(call, "closed")
        assert (closed["by"], closed["code"], closed["reason"]) == ("application", code, "enough")


async def test_the_caller_closes(lab, name):
    async with serve(lab.pki.server, on_stream=service) as server:
        call = caller(lab, name, server)
        peer = await server.accept()
        await said(call, "connected")
        call.tell("close 77 done here")
        closed = await peer.until_closed()
        assert (closed.error_code, closed.reason_phrase) == (77, "done here")


async def test_datagrams(lab, name):
    async with serve(lab.pki.server) as server:
        call = caller(lab, name, server)
        peer = await server.accept()
        await said(call, "connected")
        call.tell("datagram hello")
        await peer.until(lambda: b"hello" in peer.datagrams, "a datagram")
        peer.datagram(b"hello yourself")
        await said(call, "datagram", text="hello yourself")


async def test_the_client_identity_is_shown(lab, name):
    async with serve(lab.pki.server, ask_certificate=True) as server:
        call = caller(lab, name, server)
        peer = await server.accept()
        await said(call, "connected")
        shown = peer._quic.tls._peer_certificate
        worker = x509.load_pem_x509_certificate(lab.pki.worker.certificate.read_bytes())
        assert shown.serial_number == worker.serial_number


@pytest.mark.parametrize(("identity", "options", "reason"), [
    ("unknown_server", {}, "unknown_issuer"),
    ("server", {"server_name": "other.example.com"}, "name_mismatch"),
    ("expired_server", {}, "expired"),
    ("server", {"alpn": ["h3"]}, "no_alpn"),
])
async def test_a_dial_that_fails_is_a_failed_connect(lab, name, measured, identity, options, reason):
    """With a reason, and without a connection that dies later; what runs beside it goes on."""
    since, before = lab.iris.mark, lab.iris.failures("requested", reason)
    async with serve(lab.pki.server, on_stream=service) as good, serve(getattr(lab.pki, identity)) as server:
        neighbour = caller(lab, f"{name}-neighbour", good)
        await said(neighbour, "connected")
        call = caller(lab, name, server, **options)
        failed = await said(call, "failed")
        assert failed["by"] == "transport", "refused by the other side, not given up by this one"
        assert failed["reason"], "a reason in words"
        measured(f"{reason}: told after", failed["milliseconds"], "ms")
        assert not any(line["event"] == "connected" for line in call.lines)
        await asyncio.to_thread(lab.iris.message, "connection not established", since=since, upstream="requested",
                                reason=reason)
        assert await asyncio.to_thread(lab.iris.failures, "requested", reason) == before + 1
        neighbour.tell("open bidi echo")
        stream = (await said(neighbour, "opened"))["stream"]
        neighbour.tell(f"finish {stream}")
        await said(neighbour, "end", stream=stream)


async def test_a_destination_that_is_not_allowed(lab, name, measured):
    since, before = lab.iris.mark, lab.iris.failures("requested", "destination_not_allowed")
    call = lab.start_caller(name, lab.iris.address("any"), server_name=NAME, destination="127.0.0.2:50072")
    failed = await said(call, "failed")
    measured("told after", failed["milliseconds"], "ms")
    assert failed["by"] == "transport" and failed["milliseconds"] < 1000
    lab.iris.message("connection not established", since=since, reason="destination_not_allowed")
    assert lab.iris.failures("requested", "destination_not_allowed") == before + 1


async def test_nobody_at_the_destination(lab, name, measured):
    iris = lab.start_iris(name, {
        "timeouts": {"connect": "1s"},
        "listeners": [{"name": "out", "listen": "quic+plaintext://127.0.0.1:0", "routes": [{"upstream": "far"}]}],
        # The discard port: nobody is there.
        "upstreams": [{"name": "far", "dial": "quic://127.0.0.1:9", "tls": {"trust": "workers"}}],
    })
    call = lab.start_caller(f"{name}-caller", iris.address("out"), server_name=NAME)
    failed = await said(call, "failed")
    measured("told after, with a connect timeout of 1 s", failed["milliseconds"], "ms")
    assert failed["by"] == "transport" and failed["milliseconds"] < 5000
    line = iris.message("connection not established", upstream="far")
    assert line["reason"] in ("unreachable", "timeout")


async def test_a_fixed_destination_and_name(lab, name):
    """What the caller asks for does not matter where the file says it."""
    async with serve(lab.pki.server, alpn=["h3"], on_stream=service) as server:
        iris = await asyncio.to_thread(lab.start_iris, name, {
            "listeners": [{"name": "out", "listen": "quic+plaintext://127.0.0.1:0", "routes": [{"upstream": "far"}]}],
            "upstreams": [{"name": "far", "dial": f"quic://{join(server.address)}",
                           "tls": {"trust": "workers", "server_name": NAME}}],
        })
        call = lab.start_caller(f"{name}-caller", await asyncio.to_thread(iris.address, "out"), alpn=["h3"])
        await said(call, "connected")
        peer = await server.accept()
        assert peer._quic.tls.alpn_negotiated == "h3"
        call.tell("open bidi source 1000")
        stream = (await said(call, "opened"))["stream"]
        assert (await said(call, "end", stream=stream))["text"].encode()[:10] == pattern(10)
