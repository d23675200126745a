"""Each rule of ADK is tried on each of its own session services, and on ours in each store."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.adk.services import DIVERGENCES, KINDS, opened


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def service(kind: str, tmp_path: Path) -> AsyncGenerator[Any]:
    async with opened(kind, tmp_path) as service:
        yield service


@pytest.fixture
def kept(request: pytest.FixtureRequest, kind: str) -> AbstractContextManager[Any]:
    """What a rule is tried in: a service that is said not to keep it has to end with that error."""
    name: str = request.node.originalname
    for each in DIVERGENCES.get(name, ()):
        if kind in each.kinds:
            return pytest.raises(each.error)
    return nullcontext()
