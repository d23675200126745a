"""Files in which a caller says what models take, and what is known of one with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onrecord.adapters.settings import settings
from onrecord.adapters.toml_files import tables_in
from onrecord.domain.errors import InvalidInput, UnknownApi
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS, names

if TYPE_CHECKING:
    from onrecord.projections.apis.capabilities import Capabilities


def matrix_given(file: str | os.PathLike[str] | None) -> Mapping[str, JsonObject]:
    """Return what a file says that models take, by API; without one, `$ONRECORD_CAPABILITIES`.

    Nothing where neither names a file. InvalidInput where it cannot be read, or says what no such
    file may say: the message names the file, the entry and the reason.
    """
    found = settings().capabilities if file is None else file
    return {} if found is None else matrix_in(_path(found))


def matrix_in(file: Path) -> Mapping[str, JsonObject]:
    """Return what a file says that models take, by API; InvalidInput as `matrix_given` has it."""
    from onrecord.projections.apis.capabilities import check_tables

    tables = tables_in(file)
    try:
        check_tables(tables, tuple(FOLDERS))
    except InvalidInput as exc:
        raise InvalidInput(f"{file}: {exc}") from exc
    return tables


def capabilities(
    api: str, model: str | None = None, *, file: str | os.PathLike[str] | None = None
) -> Capabilities:
    """Return what a model takes, as a request to it would be made; None: what any of the API takes.

    `file` lies over what comes with Onrecord; without one, `$ONRECORD_CAPABILITIES`. UnknownApi where
    the API is none of ours, InvalidInput where the file says what it may not.
    """
    from onrecord.projections.apis.capabilities import capabilities_of
    from onrecord.projections.apis.request import Options

    if api not in FOLDERS:
        raise UnknownApi(f"{api!r} is no API that Onrecord speaks: choose one of {names()}")
    return capabilities_of(api, model, Options(api=api, matrix=matrix_given(file).get(api)))


def _path(file: str | os.PathLike[str]) -> Path:
    try:
        return Path(file)
    except TypeError:
        raise InvalidInput("capabilities is the path of a TOML file") from None
