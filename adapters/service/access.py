"""Who may ask the service for what: roles, keys, and the tenant that a key is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias
from uuid import UUID

Role: TypeAlias = Literal["read", "write", "operate"]
"""What a key may do: read; read and write; all that operators do, too."""

_RANKS: Final[dict[Role, int]] = {"read": 0, "write": 1, "operate": 2}


@dataclass(frozen=True, slots=True)
class Access:
    """What whoever asks may do, and in whose conversations.

    `name` says who it is. `key_id` is None where no key was needed. Whoever has `all_tenants` may
    name another tenant in a request.
    """

    tenant: UUID
    role: Role
    name: str
    key_id: UUID | None = None
    all_tenants: bool = False

    def allows(self, role: Role) -> bool:
        """Return whether it may do what needs a role."""
        return _RANKS[self.role] >= _RANKS[role]


class Keyring(Protocol):
    """The keys of a log. Its verbs may wait: they are steps of the log."""

    def access(self, token: str) -> Access | None:
        """Return what a key gives; None for what is no key, or none that counts now."""
        ...

    def is_used(self) -> bool:
        """Return whether a key was ever issued: from then on each request needs one."""
        ...

    def record_uses(self) -> int:
        """Record which keys were used since the last time; return of how many that was told."""
        ...
