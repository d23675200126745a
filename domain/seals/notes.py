"""Signed notes, as C2SP's signed-note has them: a text, and who signed it with Ed25519.

Nothing is signed or verified here: adapters/seals/signing.py does, since it takes a library.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onrecord.domain.errors import CorruptRecord, InvalidInput

_ED25519: Final = b"\x01"
_KEY_SIZE: Final = 32
_ID_SIZE: Final = 4
_MOST_SIGNATURES: Final = 16
LARGEST: Final = 1 << 20
"""In bytes: no note is larger."""

PRIVATE: Final = "PRIVATE+KEY+"
"""How the text of a private key begins."""

_NAME: Final = re.compile(r"[^\s+\x00-\x1f\x7f]+")
_CONTROLS: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SIGNATURE: Final = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")


class Signature(NamedTuple):
    """Who signed, by the name and the id of the key (4 bytes), and the bytes of the signature."""

    name: str
    key_id: bytes
    value: bytes


class Note(NamedTuple):
    """A text that ends with a line's end, and its signatures; nothing was verified yet."""

    text: str
    signatures: tuple[Signature, ...]

    def encode(self) -> bytes:
        """Return the note as it is published."""
        lines = (
            f"— {each.name} {base64.b64encode(each.key_id + each.value).decode()}\n"
            for each in self.signatures
        )
        return f"{self.text}\n{''.join(lines)}".encode()


class PublicKey(NamedTuple):
    """An Ed25519 key that verifies; as text it is `NAME+ID+KEY`, as Go's note package has it."""

    name: str
    key: bytes

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256(name || 0x0A || 0x01 || key)."""
        return _key_id(self.name, self.key)

    def __str__(self) -> str:
        """Return it as `parse_public_key` takes it."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(_ED25519 + self.key).decode()}"


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An Ed25519 key that signs: the seed, which `repr` does not show, and the public key."""

    seed: bytes = field(repr=False)
    public: PublicKey

    def encode(self) -> str:
        """Return it as Go's note package keeps it: `PRIVATE+KEY+NAME+ID+SEED`."""
        seed = base64.b64encode(_ED25519 + self.seed).decode()
        return f"{PRIVATE}{self.public.name}+{self.public.key_id.hex()}+{seed}"


@dataclass(frozen=True, slots=True)
class EncodedKey:
    """A key as its text tells it: a public key's bytes, or a private key's seed, which `repr` hides."""

    name: str
    key_id: bytes
    key: bytes = field(repr=False)


def parse_note(data: bytes) -> Note:
    """Return the note that bytes hold; CorruptRecord where they hold none."""
    try:
        whole = data.decode()
    except UnicodeDecodeError:
        raise CorruptRecord("a signed note is UTF-8") from None
    if len(data) > LARGEST or _CONTROLS.search(whole) or not whole.endswith("\n"):
        raise CorruptRecord("this is no signed note")
    text, blank, lines = whole.rpartition("\n\n")
    signatures = lines.split("\n")[:-1]
    if not blank or not 0 < len(signatures) <= _MOST_SIGNATURES:
        raise CorruptRecord("this is no signed note: it has no signatures, or too many")
    return Note(f"{text}\n", tuple(_signature(line) for line in signatures))


def parse_public_key(text: str) -> PublicKey:
    """Return the key that a text tells; InvalidInput where it tells none, or is not whole."""
    encoded = _encoded(text.strip())
    key = PublicKey(encoded.name, encoded.key)
    if key.key_id != encoded.key_id:
        raise InvalidInput("the public key is not whole: its id is that of another one")
    return key


def parse_private_key(text: str) -> EncodedKey:
    """Return the seed of a private key, and the id that its public key must have.

    InvalidInput where the text tells none; the message does not hold the text.
    """
    stripped = text.strip()
    if not stripped.startswith(PRIVATE):
        raise InvalidInput(
            "a private key begins with PRIVATE+KEY+: make one with `onrecord seal-key`"
        )
    return _encoded(stripped.removeprefix(PRIVATE))


def key_name(name: str) -> str:
    """Return the name of a key; InvalidInput where it is empty, or has a space or a plus."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput("the name of a key has no spaces and no plus sign")
    return name


def _encoded(text: str) -> EncodedKey:
    name, _, rest = text.partition("+")
    key_id, _, key = rest.partition("+")
    try:
        data = base64.b64decode(key, validate=True)
        encoded = EncodedKey(key_name(name), bytes.fromhex(key_id), data[1:])
    except (ValueError, binascii.Error):
        raise InvalidInput(
            "a key is written NAME+ID+KEY, as `onrecord seal-key` prints it"
        ) from None
    is_whole = len(data) == 1 + _KEY_SIZE and len(encoded.key_id) == _ID_SIZE
    if not is_whole or data[:1] != _ED25519 or key_id != encoded.key_id.hex():
        raise InvalidInput("a key is written NAME+ID+KEY, as `onrecord seal-key` prints it")
    return encoded


def _key_id(name: str, key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + key).digest()[:_ID_SIZE]


def _signature(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    try:
        value = base64.b64decode(match[2], validate=True) if match else b""
    except binascii.Error:
        value = b""
    if match is None or len(value) <= _ID_SIZE or base64.b64encode(value).decode() != match[2]:
        raise CorruptRecord("this is no signed note: a line of a signature is malformed")
    return Signature(match[1], value[:_ID_SIZE], value[_ID_SIZE:])
