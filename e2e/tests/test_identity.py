"""Who is who: identities by SNI, client authentication, and what the component is told."""

from __future__ import annotations

import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from iris_e2e.peer import connect


@pytest.mark.parametrize(("server_name", "serial_of"), [
    ("stargate-0.stargate.example.com", "edge"),
    ("second.example.com", "second"),
])
async def test_the_identity_is_chosen_by_name(lab, server_name, serial_of):
    expected = x509.load_pem_x509_certificate(getattr(lab.pki, serial_of).certificate.read_bytes())
    async with connect(lab.iris.address("two-names"), **lab.peer(server_name=server_name)) as peer:
        assert peer._quic.tls._peer_certificate.serial_number == expected.serial_number
        await peer.echo()


@pytest.mark.parametrize("shown", ["worker", "by_uri"])
@pytest.mark.parametrize("listener", ["authenticated", "optional"])
async def test_a_client_certificate_that_is_allowed(lab, listener, shown):
    identity = getattr(lab.pki, shown)
    async with connect(lab.iris.address(listener), **lab.peer(identity=identity)) as peer:
        told = (await lab.told(peer))["peer"]["certificate"]
    der = x509.load_pem_x509_certificate(identity.certificate.read_bytes()).public_bytes(Encoding.DER)
    assert told["sha256"] == hashlib.sha256(der).hexdigest()
    assert any(uri.startswith("spiffe://prod/") for uri in told["uris"])


async def test_no_certificate_where_it_is_optional(lab):
    async with connect(lab.iris.address("optional"), **lab.peer()) as peer:
        assert (await lab.told(peer))["peer"]["certificate"] is None


async def test_the_component_is_told_of_its_peer(lab):
    async with connect(lab.iris.address("both"), **lab.peer(alpn=["h3"])) as peer:
        host, port = peer._transport.get_extra_info("sockname")[:2]
        connected = await lab.told(peer)
    assert connected["server_name"] == "stargate-0.stargate.example.com"
    assert connected["peer"]["address"] == f"{host}:{port}"
    assert connected["peer"]["server_name"] == "stargate-0.stargate.example.com"
    assert connected["peer"]["alpn"] == "h3"
    assert connected["peer"]["tls_version"] == 0x0304
