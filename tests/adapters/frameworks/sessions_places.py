"""Stores of each kind for the tests of framework sessions."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.store import Store
from onrecord.domain.log import Backend
from tests.factories import TENANT

FRAMEWORK = "tests"


def store_of(backend: Backend, folder: Path, tenant: UUID = TENANT) -> Store:
    return Store(backend, "a store", spool=Spool(folder / "spool"), tenant=tenant, actor="eve")
