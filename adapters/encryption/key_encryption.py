"""What encrypts the keys of subjects: a key file, the environment, a KMS, or what a program registers.

A generation is one key-encryption key. Keys are wrapped under the current one. To retire a
generation takes from everybody what is wrapped under it, in backups of a key store too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, Protocol, cast

from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import InvalidInput


class KeyEncryption(Protocol):
    """Wraps keys and unwraps them. StorageUnavailable where it cannot be reached.

    Threads may share it. `context` is what a key is bound to: unwrapped with another one, it is refused.
    """

    def current(self) -> str:
        """Return the name of the generation that keys are wrapped under now."""
        ...

    def wrap(self, plain: bytes, context: Mapping[str, str]) -> Wrapped:
        """Return bytes wrapped under the current generation."""
        ...

    def unwrap(self, wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        """Return the bytes; CorruptRecord where they were changed or are another key's.

        StorageUnavailable where the generation is not there, or not any more.
        """
        ...

    def begin_generation(self) -> str:
        """Make a new generation the current one, and return its name; the others stay.

        InvalidInput where only its owner can do that.
        """
        ...

    def retire(self, generation: str) -> int | None:
        """Destroy a generation that is not the current one, also if that was done before.

        Return until when that can be undone, in microseconds since 1970-01-01 UTC; None: it cannot be.
        InvalidInput for the current one, and where only its owner can do that.
        """
        ...


_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+):(.*)", re.DOTALL)
_HERE: Final = "onrecord.adapters.encryption"
_BUILT_IN: Final[Mapping[str, str]] = {
    "file": f"{_HERE}.key_file",
    "env": f"{_HERE}.environment",
    "aws-kms": f"{_HERE}.aws_kms",
}
_registered: Final[dict[str, Callable[[str], KeyEncryption]]] = {}


def register(scheme: str, open_one: Callable[[str], KeyEncryption]) -> None:
    """Have URLs that begin with a scheme and a colon opened by a function, which gets what follows it.

    InvalidInput for a scheme that is none, or is taken.
    """
    if _SCHEME.fullmatch(f"{scheme}:") is None:
        raise InvalidInput(f"{scheme!r} is no scheme: use lower case letters, as in vault")
    if scheme in _BUILT_IN or _registered.get(scheme, open_one) is not open_one:
        raise InvalidInput(f"the scheme {scheme} is taken: choose another one")
    _registered[scheme] = open_one


def key_encryption_at(url: str) -> KeyEncryption:
    """Return what an URL names: `/etc/onrecord/kek`, `env:ONRECORD_KEK`, `aws-kms:alias/onrecord`.

    InvalidInput for an URL of a kind that nobody registered.
    """
    match = _SCHEME.fullmatch(url)
    scheme, rest = ("file", url) if match is None else (match[1], match[2])
    if not rest.strip():
        raise InvalidInput("no key-encryption key is named: give the file that holds it")
    if (open_one := _registered.get(scheme)) is not None:
        return open_one(rest)
    if (module := _BUILT_IN.get(scheme)) is None:
        known = ", ".join(sorted({*_BUILT_IN, *_registered}))
        raise InvalidInput(f"no key-encryption key is known by {scheme}: only by {known}")
    opened = cast("Callable[[str], KeyEncryption]", import_module(module).open_one)
    return opened(rest)
