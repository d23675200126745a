"""Where the seals of a log are kept, and whose signatures under them are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from onrecord.adapters.seals.key_files import read_key_file
from onrecord.adapters.seals.places import Place, place_at
from onrecord.adapters.seals.timestamps import TrustedAuthority
from onrecord.domain.seals.notes import PublicKey, parse_public_key

if TYPE_CHECKING:
    from onrecord.adapters.settings import SealSettings


class TrustedKeys(NamedTuple):
    """Public keys that are believed, and whether somebody named them.

    Where nobody did, the key is the public half of the private key that is here: whoever swapped that
    file, swapped both.
    """

    keys: tuple[PublicKey, ...] = ()
    is_pinned: bool = False


class Seals(NamedTuple):
    """The places where seals of a log are looked for, and the keys and the timestamps that are believed."""

    places: tuple[Place, ...] = ()
    trusted: TrustedKeys = TrustedKeys()
    authority: TrustedAuthority | None = None


NO_SEALS: Final = Seals()


def seals_of(known: SealSettings) -> Seals:
    """Return where to look for seals, and whom to believe.

    InvalidInput for an URL of no place, and for a text or a file that holds no key or no certificate.
    """
    found = tuple(place_at(url) for url in dict.fromkeys(known.places))
    authority = None if known.authority is None else TrustedAuthority(known.authority)
    return Seals(found, trusted_keys(known), authority) if found else NO_SEALS


def trusted_keys(known: SealSettings) -> TrustedKeys:
    """Return the public keys that somebody named, else that of the private key; there may be none.

    The private key's own is not believed beside others: who swaps its file would be believed too.
    """
    if pinned := pinned_keys(known):
        return TrustedKeys(pinned, is_pinned=True)
    return TrustedKeys(() if known.key is None else (read_key_file(known.key).public,))


def pinned_keys(known: SealSettings) -> tuple[PublicKey, ...]:
    """Return the public keys that somebody named; a text may hold several, with spaces between them."""
    return tuple(parse_public_key(key) for text in known.public_keys for key in text.split())
