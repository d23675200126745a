"""Where the seals of a log are kept, and whose signatures under them are believed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from onrecord.adapters.seals.places import Place, place_at
from onrecord.adapters.seals.signing import read_private_key
from onrecord.domain.errors import InvalidInput
from onrecord.domain.seals.notes import PublicKey, parse_public_key

_PLACES: Final = "ONRECORD_SEALS"
_PUBLIC: Final = "ONRECORD_SEAL_VKEY"
_PRIVATE: Final = "ONRECORD_SEAL_KEY"


class TrustedKeys(NamedTuple):
    """Public keys that are believed, and whether somebody named them.

    Where nobody did, the key is the public half of the private key that is here: whoever swapped that
    file, swapped both.
    """

    keys: tuple[PublicKey, ...] = ()
    is_pinned: bool = False


class Seals(NamedTuple):
    """The places where seals of a log are looked for, and the keys that are believed."""

    places: tuple[Place, ...] = ()
    trusted: TrustedKeys = TrustedKeys()


NO_SEALS: Final = Seals()


def seals_of(
    urls: Iterable[str] | None,
    keys: Iterable[str] | None,
    environment: Mapping[str, str] = os.environ,
) -> Seals:
    """Return where to look for seals, and whom to believe; what is None the environment says.

    InvalidInput for an URL of no place, and for a text that is no key.
    """
    found = places(urls, environment)
    return Seals(found, trusted_keys(keys, environment)) if found else NO_SEALS


def places(
    urls: Iterable[str] | None, environment: Mapping[str, str] = os.environ
) -> tuple[Place, ...]:
    """Return the places at URLs, those of `$ONRECORD_SEALS` where none are given."""
    named = environment.get(_PLACES, "").split() if urls is None else urls
    return tuple(place_at(url) for url in dict.fromkeys(named))


def trusted_keys(
    texts: Iterable[str] | None, environment: Mapping[str, str] = os.environ
) -> TrustedKeys:
    """Return the public keys that texts tell, else those of `$ONRECORD_SEAL_VKEY`.

    Without either it is that of the private key in the file `$ONRECORD_SEAL_KEY`, or there is none.
    """
    named = environment.get(_PUBLIC, "").split() if texts is None else list(texts)
    if named:
        return TrustedKeys(tuple(parse_public_key(text) for text in named), is_pinned=True)
    file = environment.get(_PRIVATE)
    return TrustedKeys((_public_half(Path(file)),)) if file else TrustedKeys()


def _public_half(file: Path) -> PublicKey:
    try:
        return read_private_key(file.read_text("utf-8")).public
    except OSError as exc:
        raise InvalidInput(
            f"${_PRIVATE} names {file}, which cannot be read: {exc.strerror}"
        ) from exc
    except UnicodeDecodeError:
        raise InvalidInput(f"${_PRIVATE} names {file}, which holds no key") from None
