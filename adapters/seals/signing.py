"""Ed25519, by the library `cryptography`: keys that sign notes, and who signed one."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onrecord.domain.errors import CorruptRecord, InvalidInput, NotInstalled
from onrecord.domain.seals.notes import (
    Note,
    PrivateKey,
    PublicKey,
    Signature,
    key_name,
    parse_note,
    parse_private_key,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SEED_SIZE: Final = 32


def new_key(name: str) -> PrivateKey:
    """Return a new key that signs under a name; InvalidInput for a name with spaces or a plus."""
    return _of_seed(key_name(name), secrets.token_bytes(_SEED_SIZE))


def read_private_key(text: str) -> PrivateKey:
    """Return the key that a text tells, as `PrivateKey.encode` wrote it.

    InvalidInput where it tells none, or is not whole; the message does not hold the text.
    """
    encoded = parse_private_key(text)
    key = _of_seed(encoded.name, encoded.key)
    if key.public.key_id != encoded.key_id:
        raise InvalidInput("the private key is not whole: its id is that of another one")
    return key


def signed(text: str, key: PrivateKey) -> Note:
    """Return a text signed with a key."""
    value = _signer(key.seed).sign(text.encode())
    return Note(text, (Signature(key.public.name, key.public.key_id, value),))


def verified(data: bytes, keys: Sequence[PublicKey]) -> Note:
    """Return the note that bytes hold, if one of the keys signed it; CorruptRecord if none did.

    Signatures of other keys say nothing. One that bears the name and the id of a key and does not
    verify makes the note worthless, as the specification has it.
    """
    note = parse_note(data)
    known = {(key.name, key.key_id): key for key in keys}
    signatures = [each for each in note.signatures if (each.name, each.key_id) in known]
    if not signatures:
        names = ", ".join(f"{each.name}+{each.key_id.hex()}" for each in note.signatures)
        raise CorruptRecord(f"the checkpoint is signed by {names}, which is no key that was given")
    for each in signatures:
        _verify(note.text, each, known[each.name, each.key_id])
    return note


def _verify(text: str, signature: Signature, key: PublicKey) -> None:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError as exc:
        raise _not_installed() from exc
    try:
        Ed25519PublicKey.from_public_bytes(key.key).verify(signature.value, text.encode())
    except InvalidSignature:
        raise CorruptRecord(f"the signature of {key.name} is not of this checkpoint") from None


def _of_seed(name: str, seed: bytes) -> PrivateKey:
    public = _signer(seed).public_key().public_bytes_raw()
    return PrivateKey(seed, PublicKey(name, public))


def _signer(seed: bytes) -> Ed25519PrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError as exc:
        raise _not_installed() from exc
    return Ed25519PrivateKey.from_private_bytes(seed)


def _not_installed() -> NotInstalled:
    return NotInstalled("a seal", "cryptography", "seals")
