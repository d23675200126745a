"""What answers in the place of a service, or stands before it: proxies, other hosts, lost certificates."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import onrecord
from onrecord.adapters.service.access import Access
from onrecord.adapters.service.bodies import Limits
from onrecord.adapters.storage.http import transport
from onrecord.adapters.storage.http.http import open_http
from onrecord.adapters.storage.http.transport import Ask, Transport
from onrecord.domain.errors import InvalidInput, StorageUnavailable
from tests.adapters.service.keys import KEYS, TENANT, Keys
from tests.adapters.service.served import served
from tests.adapters.storage.http.stranger import BODY, WHOLE, Stranger
from tests.factories import appending, prompt, started

ASK = Ask("GET", "/v1/log")
PAGE = b"<html>Bad gateway</html>"


def answering(status: str, *headers: str, body: bytes = PAGE) -> bytes:
    lines = [f"HTTP/1.1 {status}", "content-type: text/html", *headers]
    head = "\r\n".join([*lines, f"content-length: {len(body)}", "connection: close"])
    return head.encode() + b"\r\n\r\n" + body


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    with closing(Stranger()) as one:
        yield one


@pytest.fixture
def asking(stranger: Stranger) -> Iterator[Transport]:
    with closing(Transport(stranger.url, "ork_canary")) as one:
        yield one


def test_an_answer_that_is_cut_at_any_byte_is_asked_for_again(
    stranger: Stranger, asking: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    for size in range(len(WHOLE)):
        stranger.answers = [WHOLE[:size]]
        answer = asking.answer(ASK)
        assert (answer.data, answer.is_repeated) == (BODY, True), size
    assert len(stranger.heads) == 2 * len(WHOLE)


@pytest.mark.parametrize("status", ["502 Bad Gateway", "504 Gateway Timeout"])
def test_a_proxy_that_lost_the_service_is_asked_again(
    stranger: Stranger, asking: Transport, status: str
) -> None:
    stranger.answers = [answering(status)]
    answer = asking.answer(ASK)
    # The service may have done it.
    assert (answer.data, answer.is_repeated) == (BODY, True)


@pytest.mark.parametrize("status", ["502 Bad Gateway", "504 Gateway Timeout"])
def test_a_proxy_that_found_no_service_is_said_by_its_status_alone(
    stranger: Stranger, asking: Transport, status: str
) -> None:
    stranger.answers = [answering(status)]
    with pytest.raises(StorageUnavailable, match=f"it answers {status[:3]}") as refused:
        asking.answer(ASK, repeats=False)
    assert "html" not in str(refused.value)


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden", "404 Not Found"])
def test_a_page_in_the_place_of_an_answer_is_no_service(stranger: Stranger, status: str) -> None:
    stranger.answers = [answering(status)]
    with pytest.raises(StorageUnavailable, match="no Onrecord service"):
        open_http(stranger.url, "ork_canary")
    assert len(stranger.heads) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_key_goes_where_a_redirect_leads(stranger: Stranger, status: int) -> None:
    with closing(Stranger()) as other:
        stranger.answers = [answering(f"{status} Elsewhere", f"location: {other.url}/v1/log")]
        with pytest.raises(StorageUnavailable, match="no Onrecord service") as refused:
            open_http(stranger.url, "ork_canary")
        assert other.heads == []
    assert len(stranger.heads) == 1
    assert "canary" not in str(refused.value)


class EndingKeys:
    """A keyring whose keys end."""

    def __init__(self) -> None:
        self.have_ended = False

    def access(self, token: str) -> Access | None:
        return None if self.have_ended else KEYS.get(token)

    def is_used(self) -> bool:
        return True

    def record_uses(self) -> int:
        return 0


def test_a_key_that_ends_amid_work_is_said_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    keys = EndingKeys()
    with (
        served(f"sqlite:///{tmp_path / 'log.db'}", keyring=keys) as service,
        onrecord.connect(service.url, key="writer") as store,
    ):
        chat = store.conversation("ada")
        chat.user("one")
        keys.have_ended = True
        with pytest.raises(StorageUnavailable, match="takes no such key"):
            chat.user("two")
        keys.have_ended = False
        chat.user("three")
        assert [turn.text for turn in chat.history()] == ["one\nthree"]


def test_an_append_of_more_than_a_service_takes_is_an_error_and_stores_nothing(
    tmp_path: Path,
) -> None:
    limits = Limits(body=1 << 20)
    with (
        served(f"sqlite:///{tmp_path / 'log.db'}", keyring=Keys(), limits=limits) as service,
        closing(open_http(service.url, "writer")) as log,
    ):
        conversation = log.open(TENANT, "ada")
        with pytest.raises(InvalidInput, match="1,048,576 bytes"):
            log.append([appending(conversation, prompt("a" * (2 << 20)), tenant=TENANT)])
        assert log.head(conversation).version == 0


def test_many_events_and_large_ones_come_and_go_whole(tmp_path: Path) -> None:
    with (
        served(f"sqlite:///{tmp_path / 'log.db'}", keyring=Keys()) as service,
        closing(open_http(service.url, "writer")) as log,
    ):
        conversation = log.open(TENANT, "ada")
        large = [prompt("a" * (5 << 20)), prompt("b" * (5 << 20))]
        small = [prompt(str(number)) for number in range(2_500)]
        events = [started("ada"), *large, *small]
        log.append([appending(conversation, *events, tenant=TENANT)])
        assert [each.event() for each in log.read(conversation)] == events
        assert len(log.new_since(conversation, 0, 5_000).events) == len(events)


@pytest.fixture
def certified(tmp_path: Path) -> Iterator[tuple[Stranger, Path]]:
    """A service with a certificate that it signed itself, and the file of it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    own = tmp_path / "own.pem"
    own.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = tmp_path / "key.pem"
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own, secret)
    with closing(Stranger(tls)) as one:
        yield one, own


def test_a_certificate_that_nobody_vouches_for_is_an_error_at_once(
    certified: tuple[Stranger, Path],
) -> None:
    stranger, _ = certified
    with pytest.raises(StorageUnavailable, match=r"certificate is not trusted.*SSL_CERT_FILE"):
        open_http(stranger.url, "ork_canary", patience=1e9)
    assert stranger.heads == []


def test_an_authority_of_ones_own_is_named_by_the_environment(
    certified: tuple[Stranger, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger, own = certified
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    with closing(Transport(stranger.url, "ork_canary")) as asking:
        assert asking.answer(ASK).data == BODY
    assert b"Bearer ork_canary" in stranger.heads[0]
