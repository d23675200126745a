"""What the environment of an `eventsourcing` application says about its log and its recorders."""

from __future__ import annotations

from typing import Final, TypeVar
from uuid import UUID

from eventsourcing.utils import Environment, resolve_topic

_ONLY_TENANT: Final = UUID(int=0)

T = TypeVar("T")


def named_url(env: Environment, advice: str) -> str:
    """Return the URL of the log, ONRECORD_URL; OSError with the advice where there is none."""
    url = env.get("ONRECORD_URL")
    if not url:
        raise OSError(f"ONRECORD_URL is not set: {advice}")
    return url


def named_tenant(env: Environment) -> UUID:
    """Return the tenant that the application is, ONRECORD_TENANT; the only one if not named."""
    return UUID(env.get("ONRECORD_TENANT") or str(_ONLY_TENANT))


def named_class(env: Environment, variable: str, ours: type[T]) -> type[T]:
    """Return the class whose topic a variable holds, or ours."""
    topic = env.get(variable)
    named: type[T] = resolve_topic(topic) if topic else ours
    return named
