"""A throwaway PKI in a folder: two certificate authorities and the certificates that the tests need."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Identity:
    """A certificate chain and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority; `bundle` is its own certificate as a PEM file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + 30 * DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(key_usage(ca=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        self.bundle = folder / f"{name}.ca.pem"
        self.bundle.write_bytes(pem(self.certificate))

    def issue(self, name: str, *, sans: list[str], not_before: datetime.timedelta = -DAY,
              not_after: datetime.timedelta = 7 * DAY) -> Identity:
        """A leaf for DNS names, IP addresses and URIs, valid from and until so far from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.timezone.utc)
        leaf = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + not_before)
            .not_valid_after(now + not_after)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                           critical=False)
            .add_extension(x509.SubjectAlternativeName([general_name(san) for san in sans]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        identity = Identity(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        identity.certificate.write_bytes(pem(leaf))
        identity.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                   serialization.NoEncryption()))
        identity.key.chmod(0o600)
        return identity


class Pki:
    """Everything the tests present and trust."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(folder, "workers")
        self.stranger = Authority(folder, "stranger")
        # What the Iris under test shows: one name for tunnels, one for a second identity chosen by SNI.
        self.edge = self.authority.issue("edge", sans=["*.stargate.example.com", "stargate"])
        self.second = self.authority.issue("second", sans=["second.example.com"])
        # What peers show to it.
        self.worker = self.authority.issue("worker", sans=["w1.workers.example", "spiffe://prod/worker"])
        self.by_uri = self.authority.issue("by-uri", sans=["spiffe://prod/other"])
        self.disallowed = self.authority.issue("disallowed", sans=["w1.elsewhere.example"])
        self.unknown = self.stranger.issue("unknown", sans=["w1.workers.example"])
        self.expired_worker = self.authority.issue("expired-worker", sans=["w1.workers.example"],
                                                   not_before=-3 * DAY, not_after=-DAY)
        self.early_worker = self.authority.issue("early-worker", sans=["w1.workers.example"], not_before=DAY)
        # What the servers that Iris dials show.
        self.server = self.authority.issue("server", sans=["server.example.com", "127.0.0.1"])
        self.expired_server = self.authority.issue("expired-server", sans=["server.example.com"],
                                                   not_before=-3 * DAY, not_after=-DAY)
        self.unknown_server = self.stranger.issue("unknown-server", sans=["server.example.com"])


def key_usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(digital_signature=True, key_cert_sign=ca, crl_sign=ca, content_commitment=False,
                         key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
                         decipher_only=False)


def general_name(san: str) -> x509.GeneralName:
    if "://" in san:
        return x509.UniformResourceIdentifier(san)
    try:
        return x509.IPAddress(ipaddress.ip_address(san))
    except ValueError:
        return x509.DNSName(san)


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
