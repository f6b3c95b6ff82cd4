"""Certificates for servers on this machine: an authority, a server's, a client's, a stranger's."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_YEAR = datetime.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate and its key, on disk as servers want them and in memory as secrets do."""

    certificate_file: Path
    key_file: Path

    @property
    def certificate(self) -> bytes:
        return self.certificate_file.read_bytes()

    @property
    def key(self) -> bytes:
        return self.key_file.read_bytes()


@dataclass(frozen=True, slots=True)
class Certificates:
    """What both sides need; nobody here was signed by `other_ca`."""

    ca: Tls
    server: Tls
    client: Tls
    other_ca: Tls


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path, name: str) -> Tls:
        files = Tls(folder / f"{name}.crt", folder / f"{name}.key")
        files.certificate_file.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        files.key_file.write_bytes(self.key.private_bytes(*plain))
        return files


def certificates(folder: Path) -> Certificates:
    """Make all of them below a folder; the server is `127.0.0.1`, `::1` and `localhost`."""
    folder.mkdir(parents=True, exist_ok=True)
    ca = _authority("Test CA")
    return Certificates(
        ca.write(folder, "ca"),
        _leaf("localhost", ca, ExtendedKeyUsageOID.SERVER_AUTH).write(folder, "server"),
        _leaf("kro-gitops", ca, ExtendedKeyUsageOID.CLIENT_AUTH).write(folder, "client"),
        _authority("Another CA").write(folder, "other-ca"),
    )


def _authority(name: str) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    builder = _builder(subject, subject, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    return _Pair(builder.sign(key, hashes.SHA256()), key)


def _leaf(name: str, ca: _Pair, usage: x509.ObjectIdentifier) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    places = x509.SubjectAlternativeName(
        [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("::1")),
        ]
    )
    builder = (
        _builder(_name(name), ca.certificate.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(places, critical=False)
    )
    return _Pair(builder.sign(ca.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _YEAR)
        .not_valid_after(now + _YEAR)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
