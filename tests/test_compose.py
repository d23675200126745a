"""docker-compose.yml starts what there is: commands of the program, its variables, roles that work.

Where Docker Compose is installed it is asked whether it understands the file, too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own
from psycopg import errors
from typer.testing import CliRunner

from onrecord.adapters.cli.commands import app
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.log import Recorded
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import folded
from tests.factories import appending, prompt
from tests.postgres_copies import run
from tests.postgres_server import GIVEN, VERSIONS, server

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def test_docker_compose_understands_it() -> None:
    if not understands_compose():
        pytest.skip("Docker Compose is not installed")
    done = subprocess.run(
        ["docker", "compose", "--file", FILE, "config", "--quiet"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def understands_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    command = ["docker", "compose", "version"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_there_are_the_servers_the_schema_the_roles_and_the_workers(
    compose: dict[str, Any],
) -> None:
    assert set(compose["services"]) == {"postgres", "redis", "migrate", "admit", "worker"}
    assert compose["services"]["worker"]["deploy"]["replicas"] == 2


def test_what_runs_of_ours_is_a_command_of_the_program(compose: dict[str, Any]) -> None:
    ours = {name for name, it in compose["services"].items() if it["image"] == "onrecord"}
    assert ours == {"migrate", "worker"}
    for name in ours:
        command, *options = compose["services"][name]["command"]
        help_of_it = CliRunner().invoke(app, [command, "--help"])
        assert help_of_it.exit_code == 0
        assert all(it in help_of_it.output for it in options if it.startswith("--"))


def test_the_extras_that_the_image_has_are_there(compose: dict[str, Any]) -> None:
    built = compose["services"]["worker"]["build"]["dockerfile_inline"]
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", built)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert extras.split(",") == ["postgres", "redis", "metrics"]
    assert {*extras.split(",")} <= known["optional-dependencies"].keys()


def test_its_variables_are_those_that_the_program_reads(compose: dict[str, Any]) -> None:
    read = (ROOT / "adapters" / "settings.py").read_text(encoding="utf-8")
    for name in ("migrate", "worker"):
        for variable in compose["services"][name]["environment"]:
            assert f'"{variable}"' in read


def test_each_waits_for_what_it_needs(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for name, before in (("admit", "migrate"), ("worker", "admit")):
        condition = services[name]["depends_on"][before]["condition"]
        assert condition == "service_completed_successfully"
    for name in ("postgres", "redis"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"


def test_only_the_owner_is_the_owner(compose: dict[str, Any]) -> None:
    services = compose["services"]
    owner = services["postgres"]["environment"]["POSTGRES_USER"]
    assert f"//{owner}:" in services["migrate"]["environment"]["ONRECORD_URL"]
    assert services["admit"]["environment"]["PGUSER"] == owner
    assert f"//{owner}_worker:" in services["worker"]["environment"]["ONRECORD_URL"]


def test_redis_keeps_nothing_and_is_bounded(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options == {
        "--save": "",
        "--appendonly": "no",
        "--maxmemory": "256mb",
        "--maxmemory-policy": "allkeys-lru",
    }
    assert not compose["services"]["redis"].get("volumes")


def test_nothing_listens_to_the_world(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_volumes_and_configs_that_are_used_are_there(compose: dict[str, Any]) -> None:
    used = [volume for it in compose["services"].values() for volume in it.get("volumes", ())]
    assert {volume.partition(":")[0] for volume in used} == set(compose["volumes"])
    named = [config for it in compose["services"].values() for config in it.get("configs", ())]
    assert set(named) == set(compose["configs"])


def test_the_image_has_all_that_the_wheel_is_made_of(compose: dict[str, Any]) -> None:
    built = compose["services"]["worker"]["build"]["dockerfile_inline"]
    copied = [
        name
        for line in re.findall(r"^COPY (.*) \S+$", built, re.MULTILINE)
        for name in line.split()
    ]
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "src",
        "domain",
        "projections",
        "adapters",
    } == {*copied}
    assert all((ROOT / name).exists() for name in copied)


@pytest.fixture
def log() -> Iterator[str]:
    """A database with an empty log; the roles of the file are gone again afterwards."""
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    yield created
    running.drop(created)
    for role in ("onrecord_app", "onrecord_eraser", "onrecord_worker"):
        running.execute("DROP ROLE IF EXISTS {}", role)


@pytest.mark.skipif(GIVEN is not None, reason="roles are a server's: other tests have one so named")
def test_the_roles_that_it_lets_in_append_and_own_nothing(
    compose: dict[str, Any], log: str, tmp_path: Path
) -> None:
    script = tmp_path / "admit.sql"
    script.write_text(compose["configs"]["admit.sql"]["content"], "utf-8")
    passwords = {"APP_PASSWORD": "it's one", "ERASER_PASSWORD": "2", "WORKER_PASSWORD": "two"}
    for _ in range(2):
        run(server(VERSIONS[-1]), "psql", "--no-psqlrc", f"--file={script}", log, env=passwords)
    backend = open_postgres(as_role(log, "onrecord_app"))
    assert backend.append([appending(uuid4(), prompt())]) == [Recorded(1, 1, 1)]
    assert not backend.may_forget()
    backend.close()
    eraser = open_postgres(as_role(log, "onrecord_eraser"))
    assert eraser.may_forget()
    eraser.close()
    as_worker = as_role(log, "onrecord_worker")
    with psycopg.connect(as_worker) as worker, pytest.raises(errors.InsufficientPrivilege):
        worker.execute("INSERT INTO onrecord.tenant VALUES (gen_random_uuid(), 0)")
    done = CliRunner().invoke(app, ["worker", "--once", "--url", as_worker])
    assert done.exit_code == 0, done.output
    assert [len(versions) for versions in folded(log).values()] == [1]
