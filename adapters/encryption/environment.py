"""Key-encryption keys in an environment variable: the current one first, older ones behind spaces.

Whoever sets the variable rotates: put a new key before the others, rewrap, then take the others out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NoReturn

from onrecord.adapters.encryption import local_keys
from onrecord.adapters.encryption.local_keys import LocalKey, parse_local_key
from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import InvalidInput, StorageUnavailable

_DEFAULT: Final = os.environ


def open_one(name: str) -> EnvironmentKeys:
    """Return the keys in the variable of a name."""
    return EnvironmentKeys(name)


class EnvironmentKeys:
    """The key-encryption keys in a variable; it is read anew each time."""

    def __init__(self, name: str, variables: Mapping[str, str] = _DEFAULT) -> None:
        """Read nothing yet."""
        self._name = name
        self._variables = variables

    def __repr__(self) -> str:
        """Say which variable it is."""
        return f"${self._name}"

    def current(self) -> str:
        """Return the name of the first key's generation."""
        return self._keys()[0].generation

    def wrap(self, plain: bytes, context: Mapping[str, str]) -> Wrapped:
        """Return bytes wrapped under the first key."""
        return local_keys.wrap(self._keys()[0], plain, context)

    def unwrap(self, wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        """Return what was wrapped; errors as `KeyEncryption.unwrap`."""
        return local_keys.unwrap(self._keys(), wrapped, context, self)

    def begin_generation(self) -> str:
        """Refuse: InvalidInput says what to do."""
        self._refuse("put a new key first in it")

    def retire(self, generation: str) -> int | None:
        """Say that it is gone, once it is: InvalidInput as long as the variable has it."""
        if any(key.generation == generation for key in self._keys()):
            self._refuse(f"take {generation} out of it, there and wherever else it is kept")
        return None

    def _refuse(self, advice: str) -> NoReturn:
        raise InvalidInput(
            f"only who sets ${self._name} can do that: {advice}, then run this again"
        )

    def _keys(self) -> tuple[LocalKey, ...]:
        texts = self._variables.get(self._name, "").split()
        if not texts:
            raise StorageUnavailable(f"${self._name} holds no key-encryption key: set it")
        keys = tuple(map(parse_local_key, texts))
        local_keys.must_be_apart(keys)
        return keys
