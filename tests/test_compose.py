"""docker-compose.yml starts what there is: commands of the program, its variables, roles that work.

Where Docker Compose is installed it is asked whether it understands the file, too.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import urllib3
import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own
from psycopg import errors
from typer.testing import CliRunner

from onrecord.adapters.cli.commands import app
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.log import Recorded
from tests.adapters.cli.command import PROGRAM
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import folded
from tests.factories import appending, prompt
from tests.patience import PATIENCE
from tests.postgres_copies import run
from tests.postgres_server import GIVEN, VERSIONS, server

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"
ROLES = [f"onrecord_{kind}" for kind in ("app", "eraser", "worker", "gateway", "issuer")]


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


def test_there_are_the_servers_the_schema_the_roles_the_workers_and_the_gateway(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    assert set(services) == {
        *("postgres", "redis", "migrate", "admit", "worker", "serve"),
        *("keys", "proxy"),
    }
    assert services["worker"]["deploy"]["replicas"] == 2
    # What is not started with the others.
    named = {name: it["profiles"] for name, it in services.items() if "profiles" in it}
    assert named == {"keys": ["keys"], "proxy": ["proxy"]}
    assert "depends_on" not in services["proxy"]


def test_what_runs_of_ours_is_a_command_of_the_program(compose: dict[str, Any]) -> None:
    ours = {name for name, it in compose["services"].items() if it["image"] == "onrecord"}
    assert ours == {"migrate", "worker", "serve", "keys", "proxy"}
    for name in ours:
        service = compose["services"][name]
        command, *options = service.get("command") or service["entrypoint"][1:]
        help_of_it = CliRunner().invoke(app, [command, "--help"])
        assert help_of_it.exit_code == 0
        assert all(it in help_of_it.output for it in options if it.startswith("--"))


def test_the_extras_that_the_image_has_are_there(compose: dict[str, Any]) -> None:
    built = compose["services"]["worker"]["build"]["dockerfile_inline"]
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", built)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert extras.split(",") == ["serve", "otel", "postgres", "redis", "metrics"]
    assert {*extras.split(",")} <= known["optional-dependencies"].keys()


def test_its_variables_are_those_that_the_program_reads(compose: dict[str, Any]) -> None:
    files = ("settings.py", "recording/spool.py")
    read = "".join((ROOT / "adapters" / name).read_text(encoding="utf-8") for name in files)
    variables = {
        variable
        for name in ("migrate", "worker", "serve", "keys", "proxy")
        for variable in compose["services"][name]["environment"]
    }
    built = compose["services"]["serve"]["build"]["dockerfile_inline"]
    variables |= set(re.findall(r"\b(ONRECORD_\w+)=", built))
    assert variables == {"ONRECORD_URL", "ONRECORD_REDIS", "ONRECORD_SPOOL"}
    assert [name for name in variables if f'"{name}"' not in read] == []


def test_each_waits_for_what_it_needs(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    waits = (("admit", "migrate"), ("worker", "admit"), ("serve", "admit"), ("keys", "admit"))
    for name, before in waits:
        condition = services[name]["depends_on"][before]["condition"]
        assert condition == "service_completed_successfully"
    for name in ("postgres", "redis", "worker", "serve", "proxy"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"


def test_only_the_owner_is_the_owner(compose: dict[str, Any]) -> None:
    services = compose["services"]
    owner = services["postgres"]["environment"]["POSTGRES_USER"]
    assert f"//{owner}:" in services["migrate"]["environment"]["ONRECORD_URL"]
    assert services["admit"]["environment"]["PGUSER"] == owner
    for name, kind in (("worker", "worker"), ("serve", "gateway"), ("keys", "issuer")):
        assert f"//{owner}_{kind}:" in services[name]["environment"]["ONRECORD_URL"]


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
        for line in re.findall(r"^COPY (?!--)(.*) \S+$", built, re.MULTILINE)
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


def test_nobody_is_root_and_nothing_but_a_volume_can_be_written(compose: dict[str, Any]) -> None:
    services = compose["services"]
    built = services["serve"]["build"]["dockerfile_inline"]
    stages = re.split(r"^FROM .*$", built, flags=re.MULTILINE)[1:]
    assert len(stages) == 2
    user, entrypoint = stages[-1].strip().splitlines()[-2:]
    assert re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", user)
    assert entrypoint == 'ENTRYPOINT ["onrecord"]'
    for name in ("migrate", "worker", "serve", "keys", "proxy"):
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]
    (folder,) = re.findall(r"^RUN install .* (/\S+)$", stages[-1], re.MULTILINE)
    for name in ("serve", "proxy"):
        assert services[name]["volumes"] == [f"{name}:{folder}"]
    assert f"ONRECORD_SPOOL={folder}/" in stages[-1]
    assert services["proxy"]["environment"]["ONRECORD_URL"].startswith(f"sqlite:///{folder}/")


def test_the_gateway_alone_needs_nothing_but_its_folder(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    proxy = compose["services"]["proxy"]
    with served(proxy, f"sqlite:///{tmp_path}/onrecord.db", tmp_path) as port:
        assert is_healthy(proxy, port)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        assert not is_healthy(proxy, str(silent.getsockname()[1]))


@contextmanager
def served(service: dict[str, Any], url: str, folder: Path) -> Generator[str]:
    """Run the command of a service on another store, at a port that is free, which is lent."""
    environment = {**os.environ, "ONRECORD_URL": url, "ONRECORD_SPOOL": str(folder / "spool")}
    with subprocess.Popen(
        (*PROGRAM, *service["command"], "--port", "0"),
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            answers = (re.search(r"http://\S+:(\d+)", line) for line in process.stderr)
            yield next(found[1] for found in answers if found)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


def said(port: str, key: str) -> int:
    """What a server answers to somebody who has a key and says something."""
    path = f"http://127.0.0.1:{port}/v1/conversations/a/prompts"
    headers = {"Authorization": f"Bearer {key}"}
    return urllib3.request("POST", path, json={"text": "Hello"}, headers=headers).status


def is_healthy(service: dict[str, Any], port: str) -> bool:
    """Whether the check of a service says that it is well which answers at a port."""
    (mapped,) = service["ports"]
    kind, program, *arguments = service["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    check = [argument.replace(mapped.rpartition(":")[2], port) for argument in arguments]
    done = subprocess.run([sys.executable, *check], check=False, capture_output=True)
    return done.returncode == 0


@pytest.fixture
def log() -> Iterator[str]:
    """A database with an empty log; the roles of the file are gone again afterwards."""
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    yield created
    running.drop(created)
    for role in ROLES:
        running.execute("DROP ROLE IF EXISTS {}", role)


@pytest.mark.skipif(GIVEN is not None, reason="roles are a server's: other tests have one so named")
def test_the_roles_that_it_lets_in_append_and_own_nothing(
    compose: dict[str, Any], log: str, tmp_path: Path
) -> None:
    script = tmp_path / "admit.sql"
    script.write_text(compose["configs"]["admit.sql"]["content"], "utf-8")
    passwords = {"APP_PASSWORD": "it's one", "ERASER_PASSWORD": "2", "WORKER_PASSWORD": "two"}
    passwords |= {"GATEWAY_PASSWORD": "3", "ISSUER_PASSWORD": "4"}
    assert passwords.keys() < compose["services"]["admit"]["environment"].keys()
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
    as_issuer = as_role(log, "onrecord_issuer")
    command = [*compose["services"]["keys"]["entrypoint"][1:], "issue", "laptop", "--actor", "ana"]
    issued = CliRunner().invoke(app, [*command, "--url", as_issuer])
    assert issued.exit_code == 0, issued.output
    service = compose["services"]["serve"]
    with served(service, as_role(log, "onrecord_gateway"), tmp_path) as port:
        assert is_healthy(service, port)
        assert [said(port, key) for key in (issued.stdout.strip(), "ork_none")] == [201, 401]
