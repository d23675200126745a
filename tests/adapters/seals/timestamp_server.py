"""A timestamp authority with a CA of its own, over HTTP: its tokens are real, signed by `openssl ts`."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.local_http import LocalHttp
from tests.patience import PATIENCE

_CONFIG: Final = """\
[tsa]
default_tsa = ours
[ours]
serial = serial
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
"""


class TimestampServer:
    """An authority; `asked` is how often it was asked, and `answer` what it gives in place of a token."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.asked = 0
        self.answer: bytes | None = None
        self.root = folder / "root.pem"
        _certify(folder)
        (folder / "tsa.cnf").write_text(_CONFIG)
        (folder / "serial").write_text("01\n")
        self._http = LocalHttp(self._answer)

    def __enter__(self) -> Self:
        self._http.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.__exit__(*exc)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.port}/tsr"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        query = handler.rfile.read(int(handler.headers["Content-Length"]))
        body = self.token(query) if self.answer is None else self.answer
        handler.send_response(200)
        handler.send_header("Content-Type", "application/timestamp-reply")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def token(self, query: bytes) -> bytes:
        """What this authority signs for a query, now."""
        (self._folder / "query.tsq").write_bytes(query)
        told = ["-config", "tsa.cnf", "-queryfile", "query.tsq", "-out", "response.tsr"]
        command = ["openssl", "ts", "-reply", *told]
        subprocess.run(command, cwd=self._folder, check=True, capture_output=True, timeout=PATIENCE)
        return (self._folder / "response.tsr").read_bytes()


def _certify(folder: Path) -> None:
    """Make a root, and the certificate of an authority under it."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _certificate("Root", "Root", root_key, root_key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    stamping = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    tsa = _certificate("Authority", "Root", key, root_key).add_extension(stamping, critical=True)
    for name, builder in (("root", root), ("tsa", tsa)):
        signed = builder.sign(root_key, hashes.SHA256())
        pem = signed.public_bytes(serialization.Encoding.PEM)
        (folder / f"{name}.pem").write_bytes(pem)
    (folder / "tsa.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
