"""The OpenAPI document is good enough for others' generators: one makes a client that is run."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.adapters.service.served import Served, served
from tests.node_programs import install, node


@pytest.fixture
def service(tmp_path: Path) -> Generator[Served]:
    with served(f"sqlite:///{tmp_path / 'log.db'}") as answering:
        yield answering


def test_a_client_in_typescript_is_made_of_the_document_and_works(
    service: Served, tmp_path: Path
) -> None:
    folder = tmp_path / "program"
    install(Path(__file__).parent, folder, "tsconfig.json", "client.ts")
    document = f"{service.url}/openapi.json"
    made = "node_modules/openapi-typescript/bin/cli.js"
    node(made, document, "--output", "onrecord.d.ts", folder=folder)
    node("node_modules/typescript/bin/tsc", folder=folder)
    assert node("client.ts", service.url, folder=folder) == "appended, read and followed\n"
