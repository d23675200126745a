"""A store of a framework is made with the store that `onrecord.connect` gives, and with nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

import onrecord
from onrecord.adapters.frameworks.sessions import Sessions


async def test_what_connect_does_not_give_is_no_store_of_a_framework(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    async with onrecord.connect_async(url, actor="ana") as store:
        for given in (store, url, None):
            with pytest.raises(onrecord.InvalidInput, match=f"not {type(given).__name__}$"):
                Sessions(cast("Any", given), "tests")
