"""
Make keys and certificates: on P-256, for loopback.

Nothing is read or written here. Loaded when something has to be made, for `cryptography` takes a
noticeable part of a start.
"""

from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
ADDRESSES = ("127.0.0.1", "::1")
_SKEW = timedelta(hours=1)  # by which clocks may differ

Pair = tuple[bytes, bytes]  # a certificate and its key, both in PEM


def authority(now: datetime, end: datetime) -> Pair:
    """Create an authority that signs itself."""
    key = generate_private_key(SECP256R1())
    name = _name("kube-sandbox-ca")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _builder(name, name, key, (now, end))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return _signed(builder, key, key)


def server_certificate(signer: Pair, now: datetime, end: datetime) -> Pair:
    """Create a certificate for a server on loopback."""
    key = generate_private_key(SECP256R1())
    issuer = x509.load_pem_x509_certificate(signer[0])
    issuer_key = load_pem_private_key(signer[1], None)
    if not isinstance(issuer_key, EllipticCurvePrivateKey):
        raise ValueError("the authority has a key of another sort")
    names = [
        *(x509.DNSName(each) for each in NAMES),
        *(x509.IPAddress(ip_address(each)) for each in ADDRESSES),
    ]
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = (
        _builder(_name("kube-apiserver"), issuer.subject, key, (now, end))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(identifier, critical=False)
    )
    return _signed(builder, key, issuer_key)


def signing_key() -> bytes:
    """Create a key to sign tokens with, in PEM."""
    return _pem(generate_private_key(SECP256R1()))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: EllipticCurvePrivateKey,
    life: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(life[0] - _SKEW)
        .not_valid_after(life[1])
        .add_extension(identifier, critical=False)
    )


def _signed(
    builder: x509.CertificateBuilder,
    key: EllipticCurvePrivateKey,
    signer: EllipticCurvePrivateKey,
) -> Pair:
    """Sign a certificate; return it and its private key in PEM."""
    return builder.sign(signer, SHA256()).public_bytes(Encoding.PEM), _pem(key)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
