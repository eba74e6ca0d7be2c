"""The examples of the loopback library, as its users run them: `component` behind Iris, `caller` in front of it."""

from __future__ import annotations

import asyncio

import pytest

from conftest import ingress
from iris_e2e.peer import connect, pattern, serve, service
from iris_e2e.processes import EXAMPLES, Program, join, split


@pytest.fixture
def start(lab, name):
    """Starts an example; it ends with the test."""

    def start(example: str, *arguments: str) -> Program:
        command = [str(EXAMPLES / example), *arguments]
        program = Program(f"{name}-{example}", command, lab.folder, lines_on="stdout")
        lab.running.append(program)
        return program

    return start


async def test_the_component(lab, name, start):
    component = start("component", "--alpn", "h3", "--alpn-optional")
    first = component.wait_for("its address", lambda line: str(line.get("message", "")).startswith("listening "))
    address = split(first["message"].removeprefix("listening "))
    iris = lab.start_iris(name, {
        "listeners": [ingress("ingress", alpn=["none", "h3"])],
        "upstreams": [{"name": "component", "dial": f"quic+plaintext://{join(address)}"}],
    })
    async with connect(iris.address("ingress"), **lab.peer(alpn=["h3"])) as peer:
        await peer.echo("through the example")
        stream = peer.open().send("source 200000\n", end=True)
        assert await stream.to_end() == pattern(200_000)
        stream = peer.open().send("reset 7 10\n", end=True)
        assert await stream.to_reset() == 7
        stream = peer.open().send("close 77 enough\n", end=True)
        closed = await peer.until_closed()
        assert (closed.error_code, closed.reason_phrase) == (77, "enough")
    assert component.event("connected")["alpn"] == "h3"


async def test_the_caller(lab, start):
    async with serve(lab.pki.server, alpn=["h3"], on_stream=service) as server:
        call = start(
            "caller", join(lab.iris.address("any")), "--server-name", "server.example.com", "--alpn", "h3",
            "--destination", join(server.address),
            "call 1000 echo", "calls 50 100 echo", "call 0 source 200000", "close 77 enough")
        peer = await server.accept()
        closed = await peer.until_closed()
        assert (closed.error_code, closed.reason_phrase) == (77, "enough")
        assert await asyncio.to_thread(call.process.wait, 10) == 0
    steps = [line for line in call.lines if line.get("event") == "step"]
    assert len(steps) == 4 and all(step["ok"] for step in steps), steps


async def test_the_caller_is_told_why(lab, start):
    async with serve(lab.pki.unknown_server) as server:
        call = start("caller", join(lab.iris.address("any")), "--server-name", "server.example.com",
                     "--destination", join(server.address), "call 1 echo")
        failed = await asyncio.to_thread(call.event, "connect-failed")
        assert failed["reason"]
        assert await asyncio.to_thread(call.process.wait, 10) == 1
