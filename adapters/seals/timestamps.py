"""Timestamps of checkpoints after RFC 3161: an authority signs that a note was there at a time, by its clock.

A response is kept as it came. Nothing is believed of it but what its signature says, by a certificate
that somebody names.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    NotInstalled,
    StorageUnavailable,
)

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

LARGEST: Final = 64 << 10
"""In bytes: how long a response may be, with all its certificates."""

_SECONDS: Final = 10
_GRANTED: Final = 0


class Authority(Protocol):
    """Signs when it saw a note."""

    def stamp(self, note: bytes) -> bytes:
        """Return the response on a note; StorageUnavailable where there is none."""
        ...


class TimestampAuthority:
    """An authority that is asked over HTTP."""

    def __init__(self, url: str) -> None:
        """Ask at an URL; InvalidInput where it is none of HTTP. Nothing is asked yet."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(
                "ONRECORD_TIMESTAMPS is the URL of a timestamp authority: http:// or https://"
            )
        self._url = url
        self._name = parts.hostname

    def stamp(self, note: bytes) -> bytes:
        """Return the response on a note; StorageUnavailable where there is none, or it is of another one."""
        try:
            from rfc3161_client import HashAlgorithm, TimestampRequestBuilder
        except ModuleNotFoundError as exc:
            raise _not_installed() from exc

        request = TimestampRequestBuilder(note, HashAlgorithm.SHA256).build()
        response = self._asked(request.as_bytes())
        try:
            read = _read(response)
            _must_be_of(read, note)
            is_fresh = read.tst_info.nonce == request.nonce
        except (CorruptRecord, ValueError) as exc:
            why = exc if isinstance(exc, CorruptRecord) else "what it says is no timestamp"
            raise StorageUnavailable(f"the timestamp authority {self._name}: {why}") from None
        if not is_fresh:
            raise StorageUnavailable(
                f"the timestamp authority {self._name} answered another request"
            )
        return response

    def _asked(self, query: bytes) -> bytes:
        from http.client import HTTPException
        from urllib.request import Request, urlopen

        headers = {"Content-Type": "application/timestamp-query"}
        request = Request(self._url, query, headers)
        try:
            with urlopen(request, timeout=_SECONDS) as answer:
                response: bytes = answer.read(LARGEST + 1)
        except (OSError, HTTPException, ValueError) as exc:
            raise StorageUnavailable(
                f"the timestamp authority {self._name}: {_reason(exc)}"
            ) from exc
        if len(response) > LARGEST:
            raise StorageUnavailable(f"the timestamp authority {self._name} answers without an end")
        return response


class TrustedAuthority:
    """The certificates of an authority that somebody trusts."""

    def __init__(self, file: Path) -> None:
        """Read them from a PEM file: a root, and perhaps others; InvalidInput where it has none."""
        try:
            from cryptography.x509 import load_pem_x509_certificates
        except ModuleNotFoundError as exc:
            raise _not_installed() from exc

        try:
            certificates = load_pem_x509_certificates(file.read_bytes())
        except OSError as exc:
            raise InvalidInput(f"{file} cannot be read: {exc.strerror}") from exc
        except ValueError:
            raise InvalidInput(f"{file} holds no certificates in PEM") from None
        self._roots = [each for each in certificates if each.issuer == each.subject]
        self._others = [each for each in certificates if each.issuer != each.subject]
        if not self._roots:
            raise InvalidInput(f"{file} holds no root certificate: one that signed itself")

    def stamped_at(self, response: bytes, note: bytes) -> int:
        """Return when a note was there, in microseconds since 1970-01-01 UTC.

        CorruptRecord where the response is not of that note, or not of this authority.
        """
        try:
            from rfc3161_client import VerificationError, VerifierBuilder
        except ModuleNotFoundError as exc:
            raise _not_installed() from exc

        read = _read(response)
        _must_be_of(read, note)
        try:
            verifier = VerifierBuilder(roots=self._roots, intermediates=self._others).build()
            verifier.verify_message(read, note)
        except (VerificationError, ValueError):
            raise CorruptRecord("no certificate that is trusted signed it for its time") from None
        return round(read.tst_info.gen_time.timestamp() * 1_000_000)


def _reason(error: Exception) -> object:
    """Say why nobody answered; urllib wraps what the system said."""
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or (
        cause if isinstance(cause, str) else type(cause).__name__
    )


def _read(response: bytes) -> TimeStampResponse:
    from rfc3161_client import decode_timestamp_response

    try:
        read = decode_timestamp_response(response)
        is_granted = read.status == _GRANTED
    except ValueError:
        raise CorruptRecord("it is no timestamp") from None
    if not is_granted:
        raise CorruptRecord("it was refused")
    return read


def _must_be_of(response: TimeStampResponse, note: bytes) -> None:
    try:
        imprint = response.tst_info.message_imprint.message
    except ValueError:
        raise CorruptRecord("it is no timestamp") from None
    if imprint != hashlib.sha256(note).digest():
        raise CorruptRecord("it is of another checkpoint")


def _not_installed() -> NotInstalled:
    return NotInstalled("a timestamp", "rfc3161-client", "timestamps")
