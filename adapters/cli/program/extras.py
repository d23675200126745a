"""What a command says where the extra that it needs is not installed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from onrecord.domain.errors import NotInstalled


@contextmanager
def require_extra(command: str, extra: str) -> Generator[None]:
    """Say which extra is missing where a package that a command needs is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("onrecord"):
            raise
        raise NotInstalled(command, error.name, extra) from error
