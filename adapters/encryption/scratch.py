"""Bytes of a file that only this process reads, encrypted under a key that stands nowhere else.

AES-256-CTR, so that any part is read alone: what is changed in such a file is not noticed. Each place of
it is written once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.algorithms import AES

_BLOCK: Final = 16
_KEY_SIZE: Final = 32


class ScratchCipher:
    """What encrypts the bytes of one file, and decrypts them: the same step."""

    def __init__(self, algorithm: AES) -> None:
        """Use a key; get one by `scratch_cipher`."""
        self._algorithm = algorithm

    def turned(self, data: bytes, at: int) -> bytes:
        """Return bytes that stand at a place of the file, encrypted or decrypted."""
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        blocks, inside = divmod(at, _BLOCK)
        stream = Cipher(self._algorithm, CTR(blocks.to_bytes(_BLOCK))).encryptor()
        stream.update(bytes(inside))
        return stream.update(data)


def scratch_cipher() -> ScratchCipher:
    """Return a cipher under a new key."""
    from cryptography.hazmat.primitives.ciphers.algorithms import AES

    return ScratchCipher(AES(os.urandom(_KEY_SIZE)))
