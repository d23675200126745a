"""How the demo is to be told, and the store that it is told into."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onrecord.adapters.app import connect
from onrecord.adapters.store import Store


@dataclass(frozen=True, slots=True)
class Telling:
    """How the demo is to be told, and the models to name in its requests, by API."""

    models: Mapping[str, str]
    keep: bool = False
    as_json: bool = False


@contextmanager
def opened(telling: Telling) -> Generator[tuple[Store, Path]]:
    """Yield a store in a folder of its own, and that folder, which stays if it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="onrecord-demo-"))
    try:
        with connect(f"sqlite:///{folder / 'demo.db'}") as store:
            yield store, folder
    finally:
        if not telling.keep:
            shutil.rmtree(folder)
