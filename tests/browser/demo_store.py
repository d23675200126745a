"""The demo's store behind a service, with the settings of `make serve`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapters.cli.command import run
from tests.adapters.service.served import Served, served


@contextmanager
def demo_served(folder: Path) -> Generator[Served]:
    """Serve the demo's store of a folder, recorded there if it is not there yet."""
    url = run("demo", "--store", str(folder), "--json").document["url"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONRECORD_SEALS", str(folder / "seals"))
        patch.setenv(
            "ONRECORD_SEAL_VKEY", (folder / "keys" / "seal.vkey").read_text("ascii").strip()
        )
        patch.setenv("ONRECORD_PRICES", str(folder / "prices.toml"))
        with served(url) as answering:
            yield answering
