"""A program that reads views until nothing is left, a few events a transaction; tests kill it."""

from __future__ import annotations

import sys
from pathlib import Path

import onrecord
from onrecord.adapters.views.sqlite import feeding


def read(path: Path) -> None:
    """Read and rebuild the views of a log, and say when it begins."""
    feeding.PAGE = 10  # type: ignore[misc]  # So that there is much to be killed amid.
    with onrecord.connect(f"sqlite:///{path}") as store:
        print("reading", flush=True)
        while store.views.usage().behind or store.views.audit().behind:
            pass
        store.views.keeper.rebuild("audit")
        store.views.keeper.rebuild("usage")


if __name__ == "__main__":
    read(Path(sys.argv[1]))
