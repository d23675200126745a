"""The fixtures of the views' tests: each test gets an empty store of rows on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.views.row_stores import ROW_STORES, RowStore


@pytest.fixture(params=ROW_STORES)
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RowStore]:
    store = ROW_STORES[request.param](tmp_path)
    yield store
    store.close()
