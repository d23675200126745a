"""TOML files that callers write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from onrecord.domain.errors import InvalidInput
from onrecord.domain.jsontext import JsonObject


def tables_in(file: Path, parse_float: Callable[[str], Any] = float) -> JsonObject:
    """Return the tables of a file; InvalidInput, with the file and the reason, where it has none."""
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"), parse_float=parse_float)
    except OSError as exc:
        raise InvalidInput(f"{file}: cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"{file}: is no UTF-8 at byte {exc.start}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise InvalidInput(f"{file}: is no TOML: {exc}") from exc
    except RecursionError as exc:
        raise InvalidInput(f"{file}: is nested too deeply") from exc
