"""Keys behind an alias of AWS KMS: boto3 speaks to a fake of its wire."""

import re
import sys
from collections.abc import Iterator

import pytest

from onrecord.adapters.encryption.aws_kms import AwsKms, open_one
from onrecord.adapters.encryption.key_encryption import KeyEncryption, key_encryption_at
from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import (
    CorruptRecord,
    InvalidInput,
    NotInstalled,
    StorageUnavailable,
)
from tests.adapters.encryption.kms_server import ALIAS, KmsServer

PLAIN = b"the canary sings"
CONTEXT = {"onrecord:key": "k", "onrecord:log": "l"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[KmsServer]:
    with KmsServer() as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", server.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        yield server


@pytest.fixture
def kms(server: KmsServer) -> KeyEncryption:
    return key_encryption_at(f"aws-kms:{ALIAS}")


def test_kms_gets_the_key_and_what_it_is_bound_to(kms: KeyEncryption, server: KmsServer) -> None:
    wrapped = kms.wrap(PLAIN, CONTEXT)
    assert (wrapped.generation, kms.unwrap(wrapped, CONTEXT)) == (kms.current(), PLAIN)
    (encrypt, asked), _, (decrypt, sent) = server.calls[:3]
    assert (encrypt, asked["KeyId"], asked["EncryptionContext"]) == ("Encrypt", ALIAS, CONTEXT)
    assert (decrypt, sent["KeyId"]) == ("Decrypt", wrapped.generation)


def test_a_retired_key_unwraps_nothing_and_kms_says_until_when_it_can_be_brought_back(
    kms: KeyEncryption,
) -> None:
    first = kms.wrap(PLAIN, CONTEXT)
    with pytest.raises(InvalidInput, match="begin another one first"):
        kms.retire(first.generation)
    current = kms.begin_generation()
    assert (kms.current(), kms.unwrap(first, CONTEXT)) == (current, PLAIN)
    assert kms.retire(first.generation) == 1_797_000_000_000_000
    assert kms.retire(first.generation) == 1_797_000_000_000_000
    with pytest.raises(StorageUnavailable, match="KMSInvalidStateException"):
        kms.unwrap(first, CONTEXT)
    assert kms.unwrap(kms.wrap(PLAIN, CONTEXT), CONTEXT) == PLAIN


def test_what_was_changed_or_is_another_keys_is_noticed(kms: KeyEncryption) -> None:
    generation, data = kms.wrap(PLAIN, CONTEXT)
    other = kms.begin_generation()
    for wrapped, context in (
        (Wrapped(generation, data[:-1] + bytes([data[-1] ^ 1])), CONTEXT),
        (Wrapped(generation, data), {**CONTEXT, "onrecord:key": "j"}),
        (Wrapped(other, data), CONTEXT),
    ):
        with pytest.raises(CorruptRecord, match="AWS KMS does not decrypt it") as caught:
            kms.unwrap(wrapped, context)
        assert "canary" not in str(caught.value)


def test_what_kms_refuses_is_told_by_its_code_alone(kms: KeyEncryption) -> None:
    with pytest.raises(StorageUnavailable, match="NotFoundException") as caught:
        kms.unwrap(Wrapped(f"{kms.current()}0", b"x"), CONTEXT)
    assert "onrecord:log" not in str(caught.value)


def test_a_key_of_another_account_is_never_asked(kms: KeyEncryption, server: KmsServer) -> None:
    """Its owner could have subjects' keys made that he knows."""
    generation, data = kms.wrap(PLAIN, CONTEXT)
    for foreign in (generation.replace("1111", "2222"), generation.replace("eu-", "us-"), ALIAS):
        with pytest.raises(CorruptRecord, match="is not of arn:aws:kms:eu-central-1:111122223333"):
            kms.unwrap(Wrapped(foreign, data), CONTEXT)
    assert "Decrypt" not in [operation for operation, _ in server.calls]


def test_a_kms_that_is_away_is_told(
    kms: KeyEncryption, server: KmsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = kms.wrap(PLAIN, CONTEXT)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", "http://127.0.0.1:1")
    with pytest.raises(StorageUnavailable, match="cannot be reached: EndpointConnectionError"):
        open_one(ALIAS).unwrap(wrapped, CONTEXT)


def test_a_key_is_named_by_an_alias(server: KmsServer) -> None:
    found = open_one(ALIAS)
    assert (type(found), repr(found)) == (AwsKms, f"aws-kms:{ALIAS}")
    with pytest.raises(InvalidInput, match="alias/onrecord"):
        open_one("1234abcd-12ab-34cd-56ef-1234567890ab")


def test_without_boto3_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(NotInstalled, match=re.escape("onrecord[kms]")):
        open_one(ALIAS)
