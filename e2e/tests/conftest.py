"""The laboratory: one PKI, one component and one Iris with a listener of every kind; and a table of what was measured."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from iris_e2e.peer import Peer
from iris_e2e.pki import Identity, Pki
from iris_e2e.processes import ROOT, Caller, Component, Iris, Program, join
# Fixtures that tests ask for by name.
from iris_e2e.registration_fixtures import (busy_watch, quiet_watch, registration, stubs,  # noqa: F401
                                            what_takes_long_begins_first)

OUT = Path(os.environ.get("IRIS_E2E_OUT", ROOT / "e2e" / "out"))
# No test may hang the run; each has deadlines of its own that tell more.
TEST_SECONDS = 180

MEASURED: list[tuple[str, str]] = []


def identity(files: Identity) -> dict:
    return {"certificate": str(files.certificate), "private_key": str(files.key)}


@dataclass
class Lab:
    """What tests share."""

    folder: Path
    pki: Pki
    component: Component
    iris: Iris
    running: list[Program] = field(default_factory=list)

    def start_iris(self, name: str, configuration: dict) -> Iris:
        """Another Iris, for settings of its own."""
        iris = Iris(name, self.folder, {**self.materials(), **configuration})
        self.running.append(iris)
        return iris

    def start_component(self, name: str, **options: object) -> Component:
        component = Component(name, self.folder, **options)  # type: ignore[arg-type]
        self.running.append(component)
        return component

    def start_caller(self, name: str, address: tuple[str, int], **options: object) -> Caller:
        caller = Caller(name, self.folder, address, **options)  # type: ignore[arg-type]
        self.running.append(caller)
        return caller

    async def told(self, peer: Peer) -> dict:
        """What the component was told about this peer when it connected."""
        control = await peer.control()
        return await asyncio.to_thread(self.component.event, "connected", connection=control.connection)

    def materials(self) -> dict:
        return materials(self.pki)

    def peer(self, **options: object) -> dict:
        """Options of a client connection that finds nothing to object to."""
        return {"ca": self.pki.authority.bundle, "server_name": "stargate-0.stargate.example.com", **options}


def materials(pki: Pki) -> dict:
    return {
        "identities": {"edge": identity(pki.edge), "second": identity(pki.second), "worker": identity(pki.worker)},
        "trust": {"workers": {"bundle": str(pki.authority.bundle)}},
    }


def ingress(name: str, *, alpn: list[str], upstream: str = "component", sni: str | None = None,
            client_auth: dict | None = None, identities: list[str] = ["edge"]) -> dict:
    """A secured listener on a free port."""
    route = {"upstream": upstream, **({"sni": sni} if sni else {})}
    tls = {"identities": identities, "alpn": alpn, **({"client_auth": client_auth} if client_auth else {})}
    return {"name": name, "listen": "quic://127.0.0.1:0", "tls": tls, "routes": [route]}


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    pki = Pki(OUT / "pki")
    component = Component("component", OUT, alpn=["h3", "guest/1"])
    required = {"trust": "workers", "mode": "required",
                "allow": {"dns": ["*.workers.example"], "uri": ["spiffe://prod/*"]}}
    iris = Iris("iris", OUT, {
        **materials(pki),
        "listeners": [
            ingress("no-alpn", alpn=[]),
            ingress("custom-alpn", alpn=["guest/1"]),
            ingress("both", alpn=["none", "h3"]),
            ingress("authenticated", alpn=[], client_auth=required),
            ingress("optional", alpn=[], client_auth={**required, "mode": "optional"}),
            ingress("routed", alpn=[], sni="*.stargate.example.com"),
            ingress("two-names", alpn=[], identities=["edge", "second"]),
            {"name": "any", "listen": "quic+plaintext://127.0.0.1:0", "routes": [{"upstream": "requested"}]},
        ],
        "upstreams": [
            {"name": "component", "dial": f"quic+plaintext://{join(component.address)}"},
            {"name": "requested", "dial": "quic://requested", "allow": {"destinations": ["127.0.0.1:*"]},
             "tls": {"trust": "workers", "server_name": "requested", "identity": "worker"}},
        ],
    })
    made = Lab(OUT, pki, component, iris)
    try:
        yield made
        assert not iris.panics(), iris.panics()
        assert iris.process.poll() is None, "iris did not survive its tests"
        assert component.process.poll() is None, "the component did not survive the tests"
    finally:
        for program in [*made.running, iris, component]:
            program.stop()


@pytest.fixture(autouse=True)
def clean_up(lab: Lab) -> Iterator[None]:
    """What a test starts ends with it; what all share must live on."""
    yield
    panics = [panic for program in lab.running if isinstance(program, Iris) for panic in program.panics()]
    while lab.running:
        lab.running.pop().stop()
    assert not panics, panics
    assert lab.iris.process.poll() is None, f"iris ended: {lab.iris.lines[-20:]}"


@pytest.fixture
def measured(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """Puts a figure into the table at the end of the run."""

    def put(what: str, value: float, unit: str) -> None:
        MEASURED.append((f"{request.node.name}: {what}", f"{value:,.2f} {unit}"))

    return put


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for programs and files of this test."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), TEST_SECONDS))
    return True


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    if MEASURED:
        width = max(len(what) for what, _ in MEASURED)
        terminalreporter.section("measured")
        for what, value in MEASURED:
            terminalreporter.write_line(f"{what:<{width}}  {value:>16}")
