"""`tls://` listeners as openssl's client sees them: verified and h2, or refused for the right reason."""

from __future__ import annotations

import socket
import time

import pytest

from iris_e2e.registration import SERVER_NAME, s_client

VERIFIED = "Verify return code: 0 (ok)"
DAY = 86_400


def test_verified_and_h2(registration):
    code, said = s_client(registration.ingress, "-alpn", "h2", ca=registration.pki.authority.bundle)
    assert code == 0 and VERIFIED in said and "ALPN protocol: h2" in said and "TLSv1.3" in said, said
    assert "Verified peername: *.stargate.example.com" in said, said


@pytest.mark.parametrize(("name_asked", "verified"), [
    (SERVER_NAME, "*.stargate.example.com"),
    ("second.example.com", "second.example.com"),
])
def test_the_identity_is_chosen_by_name(registration, name_asked, verified):
    address = registration.iris.address("two-names")
    code, said = s_client(address, "-alpn", "h2", ca=registration.pki.authority.bundle, name=name_asked)
    assert code == 0 and VERIFIED in said and f"Verified peername: {verified}" in said, said


@pytest.mark.parametrize(("options", "error"), [
    ({"name": "elsewhere.example.com"}, "hostname mismatch"),
    ({"ca": "stranger"}, "unable to get local issuer certificate"),
    # The certificate has a week to live: the client's clock is set to the day after.
    ({"later": 8 * DAY}, "certificate has expired"),
], ids=["name", "root", "expired"])
def test_a_verification_error(registration, options, error):
    ca = registration.pki.stranger.bundle if options.get("ca") else registration.pki.authority.bundle
    arguments = ["-attime", str(int(time.time()) + options["later"])] if "later" in options else []
    name = {"name": options["name"]} if "name" in options else {}
    code, said = s_client(registration.ingress, "-alpn", "h2", *arguments, ca=ca, **name)
    assert code != 0 and error in said and VERIFIED not in said, said


@pytest.mark.parametrize(("arguments", "alert", "reason"), [
    (["-alpn", "http/1.1"], "no application protocol", "no_alpn"),
    ([], "no application protocol", "no_alpn"),
    (["-alpn", "h2", "-tls1_2"], "protocol version", "version"),
], ids=["http/1.1", "no protocol", "TLS 1.2"])
def test_refused_with_an_alert(registration, arguments, alert, reason):
    iris = registration.iris
    since, before = iris.mark, iris.failures("registration", reason)
    code, said = s_client(registration.ingress, *arguments, ca=registration.pki.authority.bundle)
    assert code != 0 and f"alert {alert}" in said, said
    iris.message("connection not established", since=since, component="registration", reason=reason)
    assert iris.failures("registration", reason) == before + 1


def test_tls_1_2_by_choice(registration, lab, name):
    upstreams = [{"name": "registry", "dial": "tcp://127.0.0.1:9"}]
    tls = {"identities": ["edge"], "alpn": ["h2"], "versions": ["1.3", "1.2"]}
    listener = {"name": "old", "listen": "tls://127.0.0.1:0", "tls": tls, "routes": [{"upstream": "registry"}]}
    iris = lab.start_iris(name, {"listeners": [listener], "upstreams": upstreams})
    for version, shown in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")]:
        code, said = s_client(iris.address("old"), "-alpn", "h2", version, ca=lab.pki.authority.bundle)
        assert VERIFIED in said and f"New, {shown}" in said and "ALPN protocol: h2" in said, said


@pytest.mark.parametrize("says", [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\nhost: stargate\r\n\r\n"],
                         ids=["h2c", "http"])
def test_plaintext_is_refused(registration, says):
    iris, registry = registration.iris, registration.registry
    since, before, connected = iris.mark, iris.failures("registration", "protocol"), registry.count("connected")
    with socket.create_connection(registration.ingress, timeout=20) as plain:
        plain.sendall(says)
        heard = b""
        try:
            while piece := plain.recv(4096):
                heard += piece
        except ConnectionResetError:
            pass
    # A TLS alert (21), or nothing; never an answer.
    assert heard[:1] in (b"", b"\x15"), heard
    iris.message("connection not established", since=since, component="registration", reason="protocol")
    assert iris.failures("registration", "protocol") == before + 1
    assert registry.count("connected") == connected
