"""What is refused: with an alert, a reason in the log and a counter, and without a neighbour noticing."""

from __future__ import annotations

import pytest

from iris_e2e.peer import connect, refused

BAD_CERTIFICATE, UNSUPPORTED, EXPIRED, UNKNOWN_CA, ACCESS_DENIED = 42, 43, 45, 48, 49
UNRECOGNIZED_NAME, CERTIFICATE_REQUIRED = 112, 116


@pytest.mark.parametrize(("shown", "reason", "alerts"), [
    (None, "no_client_certificate", {CERTIFICATE_REQUIRED}),
    ("disallowed", "name_not_allowed", {ACCESS_DENIED}),
    ("unknown", "unknown_issuer", {UNKNOWN_CA}),
    ("expired_worker", "expired", {EXPIRED}),
    ("early_worker", "not_yet_valid", {BAD_CERTIFICATE, EXPIRED}),
])
async def test_a_client_that_may_not_enter(lab, measured, shown, reason, alerts):
    listener = "authenticated"
    identity = getattr(lab.pki, shown) if shown else None
    since, before = lab.iris.mark, lab.iris.failures(listener, reason)
    async with connect(lab.iris.address("no-alpn"), **lab.peer()) as neighbour:
        connection = (await neighbour.control()).connection
        refusal = await refused(lab.iris.address(listener), **lab.peer(identity=identity))
        assert refusal.alert in alerts
        measured(f"refused for {reason}", refusal.seconds * 1e3, "ms")
        line = lab.iris.message("connection not established", since=since, component=listener, reason=reason)
        assert "PRIVATE" not in str(line) and "BEGIN" not in str(line)
        assert lab.iris.failures(listener, reason) == before + 1
        await neighbour.echo()
        # Connections are numbered as they reach the component: none came between these two.
        async with connect(lab.iris.address("no-alpn"), **lab.peer()) as next_one:
            assert (await next_one.control()).connection == connection + 1


@pytest.mark.parametrize("shown", ["disallowed", "unknown", "expired_worker"])
async def test_a_bad_certificate_where_none_is_needed(lab, shown):
    """Optional means that it may be absent, not that it may be wrong."""
    refusal = await refused(lab.iris.address("optional"), **lab.peer(identity=getattr(lab.pki, shown)))
    assert refusal.closed is not None and refusal.alert is not None


@pytest.mark.parametrize("server_name", ["elsewhere.example.com", None], ids=["unknown-name", "no-name"])
async def test_a_name_without_a_route(lab, server_name):
    since, before = lab.iris.mark, lab.iris.failures("routed", "no_route")
    async with connect(lab.iris.address("routed"), **lab.peer()) as neighbour:
        refusal = await refused(lab.iris.address("routed"), **lab.peer(server_name=server_name))
        assert refusal.closed is not None, "refused, not left to time out"
        lab.iris.message("connection not established", since=since, component="routed", reason="no_route")
        assert lab.iris.failures("routed", "no_route") == before + 1
        await neighbour.echo()


@pytest.mark.parametrize(("options", "reason"), [
    ({"server_name": "wrong.example.com"}, None),
    ({"ca": "stranger"}, "unknown_issuer"),
])
async def test_a_peer_that_does_not_trust_us(lab, options, reason):
    """It says so, and Iris writes it down; wrong names are for clients to judge."""
    if options.get("ca") == "stranger":
        options = {"ca": lab.pki.stranger.bundle}
    since = lab.iris.mark
    await refused(lab.iris.address("no-alpn"), **lab.peer(**options))
    line = lab.iris.message("connection not established", since=since, component="no-alpn")
    assert reason is None or line["reason"] in (reason, "bad_certificate")


async def test_a_component_that_is_not_there(lab, name, measured):
    """Its port is closed: the peer learns it within the connect timeout, and it counts with the upstream."""
    from conftest import ingress

    iris = lab.start_iris(name, {
        "timeouts": {"connect": "500ms"},
        "listeners": [ingress("gone", alpn=[])],
        # The discard port: nobody is there.
        "upstreams": [{"name": "component", "dial": "quic+plaintext://127.0.0.1:9"}],
    })
    refusal = await refused(iris.address("gone"), **lab.peer())
    measured("told after", refusal.seconds * 1e3, "ms")
    assert refusal.closed is not None and refusal.seconds < 5
    iris.message("connection not established", component="gone", upstream="component")
    assert iris.metrics().sum("iris_handshake_failures_total", component="component") == 1
