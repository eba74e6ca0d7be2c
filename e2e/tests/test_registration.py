"""Workers that are not ours register through Iris: grpcurl and grpcio, through ingress, egress, and both in a row."""

from __future__ import annotations

import queue
import subprocess
import time

import grpc
import pytest

from iris_e2e.pki import Identity
from iris_e2e.processes import join
from iris_e2e.registration import (AUTHORITY, METADATA, SERVER_NAME, Registry, Watching, check_dial_addresses,
                                   documents, grpcurl, secured_server, worker)
from iris_e2e.registration_fixtures import egress_config

SERVICE = "registration.v1.Registry"
WATCH = f"{SERVICE}/WatchStargates"


@pytest.fixture(params=["ingress", "both in a row"])
def way(request, lab, registration, name):
    """Where a worker connects to, and the CA that it trusts: none in front of an egress."""
    if request.param == "ingress":
        return registration.ingress, lab.pki.authority.bundle
    egress = lab.start_iris(name, egress_config(lab, registration.iris.address("guarded")))
    return egress.address("out"), None


def test_grpcurl_lists_and_watches(way, registration):
    address, ca = way
    listed = grpcurl(address, "list", ca=ca)
    assert listed.returncode == 0 and SERVICE in listed.stdout.split(), listed
    since = registration.registry.mark
    watched = grpcurl(address, "-max-time", "2", WATCH, ca=ca)
    # It has no end but the one that was asked for.
    assert "DeadlineExceeded" in watched.stderr or "Canceled" in watched.stderr, watched
    snapshots = documents(watched.stdout)
    assert len(snapshots) >= 2 and check_dial_addresses(snapshots) == 3 * len(snapshots)
    call = registration.registry.event("call", since=since, method="WatchStargates")
    assert call["authority"] == AUTHORITY
    registration.registry.event("cancelled", since=since, call=call["call"])
    models = grpcurl(address, f"{SERVICE}/ListModels", ca=ca)
    assert documents(models.stdout) == [{"models": ["a-model", "another"]}], models


def test_an_address_without_a_scheme_is_found(lab, stubs, name):
    """What the test above holds the answers to can fail."""
    registry = Registry(name, lab.folder, stubs, dial_address="stargate.example.com:50071")
    lab.running.append(registry)
    watched = grpcurl(registry.address, "-max-time", "1", WATCH)
    with pytest.raises(AssertionError, match="without https"):
        check_dial_addresses(documents(watched.stdout))
    with pytest.raises(AssertionError, match="nothing was checked"):
        check_dial_addresses([])


def test_grpcio_watches_registers_and_lists(way, registration, stubs, measured):
    address, ca = way
    channel, stub = worker(address, stubs, ca=ca)
    since = registration.registry.mark
    with channel:
        watching = Watching(stub, stubs)
        watching.until(3)
        updates: queue.SimpleQueue = queue.SimpleQueue()
        acks = stub.RegisterInferenceServer(iter(updates.get, None), metadata=METADATA)
        for sequence in range(1, 6):
            updates.put(stubs.messages.Update(worker="w1", sequence=sequence))
            assert next(acks).sequence == sequence
        updates.put(None)
        assert list(acks) == [] and acks.code() == grpc.StatusCode.OK
        assert stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA).models == ["a-model", "another"]
        call = registration.registry.event("call", since=since, method="WatchStargates")
        assert call["authority"] == AUTHORITY, "a pod's name, unlike the one in SNI"
        began = time.monotonic()
        watching.cancel()
        registration.registry.event("cancelled", since=since, call=call["call"])
        measured("cancelled at the backend after", (time.monotonic() - began) * 1e3, "ms")
        # Its connection goes on.
        stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA)
        with pytest.raises(grpc.RpcError) as refused:
            stub.ListModels(stubs.messages.ListModelsRequest())
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    connections = {line["connection"] for line in registration.registry.lines[since:] if line.get("event") == "call"}
    assert len(connections) == 1, "one connection carried all calls"


def test_a_client_certificate(registration, stubs):
    address = registration.iris.address("guarded")
    with_one, stub = registration.client(address, identity=registration.pki.worker)
    with with_one:
        stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA, timeout=20)
    for shown, reason in [(None, "no_client_certificate"), (registration.pki.unknown, "unknown_issuer"),
                          (registration.pki.expired_worker, "expired")]:
        since = registration.iris.mark
        channel, stub = registration.client(address, identity=shown)
        with channel, pytest.raises(grpc.RpcError) as refused:
            stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA, timeout=20)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE, refused.value
        registration.iris.message("connection not established", since=since, component="guarded", reason=reason)


def test_a_plaintext_worker_is_refused(registration, stubs):
    since = registration.iris.mark
    channel, stub = worker(registration.ingress, stubs)
    with channel, pytest.raises(grpc.RpcError) as refused:
        stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA, timeout=20)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE, refused.value
    registration.iris.message("connection not established", since=since, component="registration", reason="protocol")


def test_egress_to_a_server_that_is_not_ours(lab, stubs, name):
    """grpcio's server with its own TLS; the worker speaks plaintext to Iris alone."""
    with secured_server(stubs, lab.pki.edge) as server:
        egress = lab.start_iris(name, egress_config(lab, server))
        channel, stub = worker(egress.address("out"), stubs)
        with channel:
            watching = Watching(stub, stubs)
            watching.until(3)
            assert list(stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA).models) == ["foreign"]
            acks = stub.RegisterInferenceServer(iter([stubs.messages.Update(sequence=7)]), metadata=METADATA)
            assert [ack.sequence for ack in acks] == [7]
            watching.cancel()


@pytest.mark.parametrize(("shown", "server_name", "reason"), [
    ("unknown_server", "server.example.com", "unknown_issuer"),
    ("server", SERVER_NAME, "name_mismatch"),
    ("expired_server", "server.example.com", "expired"),
])
def test_egress_to_a_server_that_is_not_who_it_must_be(lab, stubs, name, shown, server_name, reason):
    identity: Identity = getattr(lab.pki, shown)
    with secured_server(stubs, identity) as server:
        egress = lab.start_iris(name, egress_config(lab, server, server_name=server_name))
        channel, stub = worker(egress.address("out"), stubs)
        with channel, pytest.raises(grpc.RpcError) as refused:
            stub.ListModels(stubs.messages.ListModelsRequest(), metadata=METADATA, timeout=20)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE, refused.value
        egress.message("connection not established", upstream="far", reason=reason)
        assert egress.metrics().value("iris_handshake_failures_total", component="far", reason=reason) >= 1


def test_egress_never_speaks_plaintext(lab, registration, name):
    """The registry itself, which has no TLS, in place of the server: no call reaches it."""
    since = registration.registry.mark
    egress = lab.start_iris(name, egress_config(lab, registration.registry.address))
    failed = grpcurl(egress.address("out"), "-max-time", "3", WATCH)
    assert failed.returncode != 0 and failed.stdout == "", failed
    egress.message("connection not established", upstream="far", reason="protocol")
    calls = [line for line in registration.registry.lines[since:] if line.get("event") == "call"]
    assert calls == [], calls
