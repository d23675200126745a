"""docker-compose.yml starts what there is: commands of the program, its variables, roles that work.

Where Docker Compose is installed it is asked whether it understands the file, too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own

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
    assert f"//{owner}:" in services["migrate"]["environment"]["HANSARD_URL"]
    assert services["admit"]["environment"]["PGUSER"] == owner
    assert f"//{owner}_worker:" in services["worker"]["environment"]["HANSARD_URL"]


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
