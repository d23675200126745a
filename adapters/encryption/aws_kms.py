"""Key-encryption keys in AWS KMS, which never leave it: a generation is a KMS key, an alias the current one.

The calls are those of the KMS API (Encrypt, Decrypt, DescribeKey, CreateKey, UpdateAlias,
ScheduleKeyDeletion), by boto3. KMS logs the encryption context in clear: it holds ids only. KMS deletes a
key after seven days at the earliest; until then its owner can take that back.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from typing import Final, Protocol, TypedDict, cast

from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import CorruptRecord, InvalidInput, NotInstalled, StorageUnavailable
from onrecord.domain.header import microseconds_of

_SHORTEST_WINDOW: Final = 7
_ALIAS: Final = "alias/"
_GONE: Final = frozenset({"PendingDeletion", "PendingReplicaDeletion"})
_DAMAGED: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


class _Metadata(TypedDict):
    Arn: str
    KeyState: str
    DeletionDate: datetime


class _Described(TypedDict):
    KeyMetadata: _Metadata


class _Encrypted(TypedDict):
    KeyId: str
    CiphertextBlob: bytes


class _Decrypted(TypedDict):
    Plaintext: bytes


class _Deletion(TypedDict):
    DeletionDate: datetime


class _ErrorCode(TypedDict):
    Code: str


class _ErrorResponse(TypedDict):
    Error: _ErrorCode


class _ClientError(Protocol):
    response: _ErrorResponse


class KmsClient(Protocol):
    """What is used of `boto3.client("kms")`, which has no types."""

    def describe_key(self, *, KeyId: str) -> _Described: ...  # noqa: D102

    def encrypt(  # noqa: D102
        self, *, KeyId: str, Plaintext: bytes, EncryptionContext: Mapping[str, str]
    ) -> _Encrypted: ...

    def decrypt(  # noqa: D102
        self, *, KeyId: str, CiphertextBlob: bytes, EncryptionContext: Mapping[str, str]
    ) -> _Decrypted: ...

    def create_key(self, *, Description: str) -> _Described: ...  # noqa: D102

    def update_alias(self, *, AliasName: str, TargetKeyId: str) -> object: ...  # noqa: D102

    def schedule_key_deletion(  # noqa: D102
        self, *, KeyId: str, PendingWindowInDays: int
    ) -> _Deletion: ...


def open_one(alias: str) -> AwsKms:
    """Return the keys behind an alias, `alias/onrecord`, in the account and region that boto3 finds.

    InvalidInput for what is no alias: the id of one key would never be another key's.
    """
    try:
        make_client = import_module("boto3").client
    except ModuleNotFoundError as exc:
        raise NotInstalled("a key in AWS KMS", "boto3", "kms") from exc
    with _asking():
        return AwsKms(alias, cast("KmsClient", make_client("kms")))


class AwsKms:
    """The key-encryption keys behind an alias of AWS KMS."""

    def __init__(self, alias: str, client: KmsClient) -> None:
        """Ask for nothing yet."""
        if not alias.startswith(_ALIAS):
            raise InvalidInput("name the key in AWS KMS by an alias, such as alias/onrecord")
        self._alias = alias
        self._client = client
        self._home: str | None = None

    def __repr__(self) -> str:
        """Say which one it is."""
        return f"aws-kms:{self._alias}"

    def current(self) -> str:
        """Return the ARN of the key behind the alias."""
        with _asking():
            return self._client.describe_key(KeyId=self._alias)["KeyMetadata"]["Arn"]

    def wrap(self, plain: bytes, context: Mapping[str, str]) -> Wrapped:
        """Return bytes encrypted by the key behind the alias; KMS says which one that is."""
        with _asking():
            made = self._client.encrypt(
                KeyId=self._alias, Plaintext=plain, EncryptionContext=context
            )
        return Wrapped(made["KeyId"], made["CiphertextBlob"])

    def unwrap(self, wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        """Return what was wrapped; errors as `KeyEncryption.unwrap`."""
        self._must_be_at_home(wrapped.generation)
        with _asking():
            made = self._client.decrypt(
                KeyId=wrapped.generation, CiphertextBlob=wrapped.data, EncryptionContext=context
            )
        return made["Plaintext"]

    def _must_be_at_home(self, generation: str) -> None:
        """Refuse a key of another account or region: CorruptRecord.

        Who may write to the key store could name a key of their own there, and so choose subjects' keys.
        """
        if self._home is None:
            self._home = self.current().rpartition("/")[0]
        if generation.rpartition("/")[0] != self._home:
            raise CorruptRecord(f"the key store names a key that is not of {self._home}")

    def begin_generation(self) -> str:
        """Make a new key, and have the alias name it."""
        with _asking():
            made = self._client.create_key(Description=f"Onrecord, behind {self._alias}")
            arn = made["KeyMetadata"]["Arn"]
            self._client.update_alias(AliasName=self._alias, TargetKeyId=arn)
        return arn

    def retire(self, generation: str) -> int | None:
        """Schedule the deletion of a key; return when KMS deletes it."""
        if generation == self.current():
            raise InvalidInput(f"{generation} is behind {self._alias}: begin another one first")
        with _asking():
            metadata = self._client.describe_key(KeyId=generation)["KeyMetadata"]
            if metadata["KeyState"] in _GONE:
                return microseconds_of(metadata["DeletionDate"])
            deletion = self._client.schedule_key_deletion(
                KeyId=generation, PendingWindowInDays=_SHORTEST_WINDOW
            )
        return microseconds_of(deletion["DeletionDate"])


@contextmanager
def _asking() -> Generator[None]:
    """Say what KMS refuses. Its messages name keys and accounts, and nothing of what was encrypted."""
    errors = import_module("botocore.exceptions")
    try:
        yield
    except errors.ClientError as exc:
        code = cast("_ClientError", exc).response["Error"]["Code"]
        if code in _DAMAGED:
            raise CorruptRecord(f"AWS KMS does not decrypt it ({code}): it was changed") from exc
        raise StorageUnavailable(f"AWS KMS refuses ({code}): check the key and its policy") from exc
    except errors.BotoCoreError as exc:
        raise StorageUnavailable(f"AWS KMS cannot be reached: {type(exc).__name__}") from exc
