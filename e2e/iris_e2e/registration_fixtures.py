"""Fixtures of the registration service. What all share starts once; what idles for long starts first."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .pki import Pki
from .processes import Iris, join
from .registration import SERVER_NAME, Registry, Stubs, Watching, worker


@dataclass
class Registration:
    """A registry behind an ingress, and an egress that dials that ingress."""

    pki: Pki
    stubs: Stubs
    registry: Registry
    iris: Iris

    @property
    def ingress(self) -> tuple[str, int]:
        return self.iris.address("registration")

    def client(self, address: tuple[str, int] | None = None, **options: object):
        """A worker on the ingress that finds nothing to object to."""
        options.setdefault("ca", self.pki.authority.bundle)
        return worker(address or self.ingress, self.stubs, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def stubs(lab) -> Stubs:
    return Stubs(lab.folder / "stubs")


@pytest.fixture(scope="session")
def registration(lab, stubs: Stubs) -> Iterator[Registration]:
    registry = Registry("registry", lab.folder, stubs)
    iris = Iris("registration", lab.folder, registration_config(lab, registry))
    try:
        yield Registration(lab.pki, stubs, registry, iris)
        assert not iris.panics(), iris.panics()
        assert iris.process.poll() is None, "iris did not survive its tests"
    finally:
        iris.stop()
        registry.stop()


def registration_config(lab, registry: Registry) -> dict:  # type: ignore[no-untyped-def]
    """As `config/grpc.yaml` has it, with ports of its own and workers that show a certificate on one of them."""
    tls = {"identities": ["edge"], "alpn": ["h2"]}
    guarded = {**tls, "client_auth": {"trust": "workers", "mode": "required"}}
    routes = [{"upstream": "registry"}]
    return {
        **lab.materials(),
        "listeners": [
            {"name": "registration", "listen": "tls://127.0.0.1:0", "tls": tls, "routes": routes},
            {"name": "guarded", "listen": "tls://127.0.0.1:0", "tls": guarded, "routes": routes},
            {"name": "two-names", "listen": "tls://127.0.0.1:0", "tls": {**tls, "identities": ["edge", "second"]},
             "routes": routes},
        ],
        "upstreams": [{"name": "registry", "dial": f"tcp://{join(registry.address)}"}],
    }


def egress_config(lab, to: tuple[str, int], *, server_name: str = SERVER_NAME) -> dict:  # type: ignore[no-untyped-def]
    """Plaintext in, TLS out."""
    tls = {"trust": "workers", "server_name": server_name, "identity": "worker", "alpn": ["h2"]}
    return {
        "listeners": [{"name": "out", "listen": "tcp://127.0.0.1:0", "routes": [{"upstream": "far"}]}],
        "upstreams": [{"name": "far", "dial": f"tls://{join(to)}", "tls": tls}],
    }


# Longer than the longest default that could end a quiet connection: `timeouts.idle` and `timeouts.drain` are 30 s.
QUIET_SECONDS = 40


@dataclass
class Quiet:
    """A Watch on which nothing passes for 40 s, and which has an Iris with every default to itself."""

    watching: Watching
    registry: Registry
    iris: Iris
    # How often each thread that carries connections was woken, soon after the Watch began and near the end of the quiet.
    wakes: list[dict[str, int]] = field(default_factory=list)

    def look(self) -> None:
        for after in (3, QUIET_SECONDS - 3):
            time.sleep(max(0.0, self.watching.began + after - time.monotonic()))
            self.wakes.append(worker_wakes(self.iris.process.pid))


def worker_wakes(pid: int) -> dict[str, int]:
    """How often each worker of an Iris has gone to sleep of its own accord, which it does after each time it was woken."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        if (thread / "comm").read_text().startswith("iris-worker"):
            lines = dict(line.split(":", 1) for line in (thread / "status").read_text().splitlines())
            found[thread.name] = int(lines["voluntary_ctxt_switches"])
    return found


@pytest.fixture(scope="session")
def quiet_watch(lab, stubs: Stubs) -> Iterator[Quiet]:
    registry = Registry("quiet-registry", lab.folder, stubs, every=QUIET_SECONDS)
    iris = Iris("quiet", lab.folder, registration_config(lab, registry))
    channel, stub = worker(iris.address("registration"), stubs, ca=lab.pki.authority.bundle)
    try:
        watching = Watching(stub, stubs)
        watching.until(1)
        quiet = Quiet(watching, registry, iris)
        threading.Thread(target=quiet.look, daemon=True).start()
        yield quiet
    finally:
        channel.close()
        iris.stop()
        registry.stop()


@pytest.fixture(scope="session")
def busy_watch(registration: Registration) -> Iterator[Watching]:
    """A Watch whose snapshots come five times a second, beside whatever else passes through the same Iris."""
    channel, stub = registration.client()
    try:
        watching = Watching(stub, registration.stubs)
        watching.until(1)
        yield watching
    finally:
        channel.close()


@pytest.fixture(scope="session", autouse=True)
def what_takes_long_begins_first(request: pytest.FixtureRequest) -> None:
    """While the other tests run, so that the suite takes no longer for it."""
    for name in ("quiet_watch", "busy_watch"):
        if any(name in getattr(item, "fixturenames", ()) for item in request.session.items):
            request.getfixturevalue(name)
