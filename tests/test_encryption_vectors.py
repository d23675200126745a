"""docs/format.md is true of encrypted bodies: its vectors are recomputed, by our code and by code that knows only the page."""

import base64
import hashlib
import hmac
import json
import os
import struct
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from onrecord.adapters.encryption.aes import BodyCipher, unwrapped
from onrecord.adapters.encryption.encrypted_blobs import EncryptedBlob, StoredBlob
from onrecord.adapters.encryption.local_keys import parse_local_key, wrap
from onrecord.domain import encoding, header
from onrecord.domain.content import KeyedBlob
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.keys import data_key, key_name, subject_key
from onrecord.domain.encryption.wrapped import (
    Wrapped,
    WrappedKey,
    context_bytes,
    context_of,
    key_of,
    plain_of,
)

PAGE = (Path(__file__).parents[1] / "docs" / "format.md").read_text(encoding="utf-8")
Vector = dict[str, Any]
Draw = Callable[[str], None]
VECTORS: Vector = json.loads(PAGE.split("```json encryption\n")[1].split("```")[0])
WRAPPED: Vector = VECTORS["wrapped_key"]
BLOBS: list[Vector] = VECTORS["blobs"]

each_event = pytest.mark.parametrize(
    "vector", VECTORS["events"], ids=[each["what"] for each in VECTORS["events"]]
)


# A second implementation: whoever reads the page can write this.


def expand(secret: bytes, info: str, size: int = 32) -> bytes:
    return HKDFExpand(hashes.SHA256(), size, info.encode()).derive(secret)


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


@each_event
def test_a_second_implementation_computes_the_same_bytes(vector: Vector) -> None:
    """Only `cryptography` and the standard library."""
    secrets = [bytes.fromhex(secret) for secret in vector["secrets"]]
    ids = [base64.urlsafe_b64encode(expand(s, "onrecord key id", 24)).decode() for s in secrets]
    name = "+".join(sorted(ids))
    pairs = zip(ids, secrets, strict=True)
    shares = [int.from_bytes(expand(s, f"onrecord share {id_} {name}")) for id_, s in pairs]
    whole = reduce(lambda one, other: one ^ other, shares).to_bytes(32)
    client_header, nonce = canonical(vector["header"]), bytes.fromhex(vector["nonce"])
    body = json.dumps(vector["body"], separators=(",", ":"), ensure_ascii=False).encode()
    key = expand(whole, "onrecord body")
    stored = nonce + AESGCM(key).encrypt(nonce, body, client_header)
    suffix = struct.pack(">qqq", vector["version"], vector["position"], vector["recorded_at"])
    digest = hashlib.sha256(bytes.fromhex(vector["salt"]) + stored).digest()
    assert (ids, name) == (vector["key_ids"], vector["header"]["key"])
    assert (key.hex(), stored.hex()) == (vector["body_key"], vector["stored_body"])
    assert expand(whole, "onrecord blob").hex() == vector["blob_key"]
    assert digest.hex() == vector["digest"]
    leaf = hashlib.sha256(b"\x00" + client_header + suffix + digest)
    assert leaf.hexdigest() == vector["leaf"]


def test_a_second_implementation_wraps_a_key_in_the_same_bytes() -> None:
    key, nonce = (bytes.fromhex(WRAPPED[name]) for name in ("key_encryption_key", "nonce"))
    plain = bytes.fromhex(WRAPPED["secret"] + WRAPPED["subject"])
    generation = f"kek-{expand(key, 'onrecord key-encryption key', 8).hex()}"
    text = base64.urlsafe_b64encode(key).decode().rstrip("=")
    wrapped = nonce + AESGCM(key).encrypt(nonce, plain, canonical(WRAPPED["context"]))
    assert (generation, f"{generation}.{text}") == (WRAPPED["generation"], WRAPPED["text"])
    assert wrapped.hex() == WRAPPED["wrapped"]


@pytest.mark.parametrize("vector", BLOBS, ids=[each["what"] for each in BLOBS])
def test_a_second_implementation_and_ours_store_a_blob_in_the_same_bytes(
    vector: Vector, drawn: Draw
) -> None:
    document = bytes.fromhex(vector["document"]) * vector["repeated"]
    secret, salt = bytes.fromhex(vector["secret"]), bytes.fromhex(vector["salt"])
    share = expand(secret, f"onrecord share {vector['key']} {vector['key']}")
    pieces_key = expand(share, "onrecord blob pieces")
    digest = hashlib.sha256(document).digest()
    address = hmac.digest(expand(share, "onrecord blob"), digest, "sha256")
    head = b"onrecord blob 1\n" + struct.pack(">H", 32) + vector["key"].encode() + salt
    key = HKDFExpand(hashes.SHA256(), 32, b"onrecord blob key " + salt).derive(pieces_key)
    starts, stored = range(0, len(document), 1 << 20), head
    for number, start in enumerate(starts):
        is_last = number == len(starts) - 1
        nonce, bound = number.to_bytes(11) + bytes([is_last]), address if is_last else b""
        stored += AESGCM(key).encrypt(nonce, document[start : start + (1 << 20)], head + bound)
    stored += hashlib.sha256(stored).digest()
    assert (pieces_key.hex(), digest.hex()) == (vector["pieces_key"], vector["sha256"])
    assert address.hex() == vector["address"]
    assert stored.hex() == vector.get("stored", stored.hex())
    assert hashlib.sha256(stored).hexdigest() == vector.get(
        "stored_sha256", hashlib.sha256(stored).hexdigest()
    )
    # Ours.
    data = data_key([subject_key(secret)])
    drawn(vector["salt"])
    ours = EncryptedBlob(data, [document])
    assert b"".join(ours) == stored
    assert ours.address() == KeyedBlob(hmac=vector["address"], size=len(stored))
    assert b"".join(StoredBlob([stored]).decrypted(data, ours.address())) == document


# Our code.


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Have a nonce drawn that is known."""

    def draw(nonce: str) -> None:
        def urandom(size: int) -> bytes:
            return bytes.fromhex(nonce)[:size]

        monkeypatch.setattr(os, "urandom", urandom)

    return draw


@each_event
def test_our_code_encrypts_and_decrypts_these_bytes(vector: Vector, drawn: Draw) -> None:
    client_header = canonical(vector["header"])
    keys = [subject_key(bytes.fromhex(secret)) for secret in vector["secrets"]]
    key = data_key(keys)
    cipher = BodyCipher(key)
    body = cipher.decrypted(client_header, bytes.fromhex(vector["stored_body"]))
    event = encoding.decode("message.recorded", 1, body)
    assert not isinstance(event, encoding.Unrecognised)
    drawn(vector["nonce"])
    stored = cipher.encrypted(client_header, encoding.encode(event))
    assert stored.hex() == vector["stored_body"]
    assert [each.key_id for each in keys] == vector["key_ids"]
    assert (key.body.hex(), key.blob_address.hex()) == (vector["body_key"], vector["blob_key"])


@each_event
def test_our_code_writes_the_header_and_commits_to_the_same_leaf(vector: Vector) -> None:
    client_header = canonical(vector["header"])
    parsed = header.parse_header(client_header)
    assert header.header_bytes(parsed) == client_header
    assert key_name_in(client_header) == parsed.key_id == key_name(vector["key_ids"])
    digest = header.body_digest(bytes.fromhex(vector["salt"]), bytes.fromhex(vector["stored_body"]))
    recorded = header.recorded_header(
        client_header, vector["version"], vector["position"], vector["recorded_at"]
    )
    assert digest.hex() == vector["digest"]
    assert header.leaf(recorded, digest).hex() == vector["leaf"]


def test_our_code_wraps_and_unwraps_these_bytes(drawn: Draw) -> None:
    kek, key = parse_local_key(WRAPPED["text"]), subject_key(bytes.fromhex(WRAPPED["secret"]))
    context = context_of(UUID(WRAPPED["context"]["onrecord:log"]), key.key_id)
    subject, data = bytes.fromhex(WRAPPED["subject"]), bytes.fromhex(WRAPPED["wrapped"])
    assert (kek.generation, context) == (WRAPPED["generation"], WRAPPED["context"])
    record = WrappedKey(key.key_id, subject, Wrapped(kek.generation, data), 0)
    assert key_of(record, unwrapped(kek.secret, data, context_bytes(context))) == key
    drawn(WRAPPED["nonce"])
    assert wrap(kek, plain_of(key, subject), context) == record.wrapped
