"""Build Onrecord as a user gets it, install it where nothing else is, and use it from elsewhere.

Run it with an environment that has `build`: `.venv/bin/python tests/smoke/wheel.py`.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")
GATEWAY = Path(__file__).with_name("gateway.py")
INSTALLED = {"onrecord", "onrecord_command.py", "onrecord_verify.py"}
"""All that lands in site-packages: the package, what the command runs before it, and the verifier."""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command far from the checkout; its failure ends the smoke test."""
    print("$", *command, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, cwd=cwd, check=True, env=environment, stdin=subprocess.DEVNULL)


def build(into: Path) -> Path:
    """The wheel, built from the sdist, so that what the sdist lacks is missed here."""
    run(sys.executable, "-m", "build", "--quiet", "--outdir", into, ROOT, cwd=into)
    (wheel,) = into.glob("*.whl")
    return wheel


def top_level_names(wheel: Path) -> set[str]:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    return {name for name in names if not name.endswith(".dist-info")}


def main() -> None:
    """Fail at the first thing that a user would stumble over."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("scripts", {})
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = Path(folder)
        wheel = build(into=elsewhere)
        if top_level_names(wheel) != INSTALLED:
            sys.exit(f"{wheel.name} installs more than onrecord: {top_level_names(wheel)}")
        venv.create(elsewhere / "clean", with_pip=True)
        binaries = elsewhere / "clean" / "bin"
        run(binaries / "python", "-m", "pip", "install", "--quiet", wheel, cwd=elsewhere)
        for script in scripts:
            run(binaries / script, "--version", cwd=elsewhere)
            run(binaries / script, "--help", cwd=elsewhere)
        run(binaries / "python", "-I", PROGRAM, cwd=elsewhere)
        extras = f"{wheel}[serve,http]"
        run(binaries / "python", "-m", "pip", "install", "--quiet", extras, cwd=elsewhere)
        run(binaries / "python", "-I", GATEWAY, ROOT / "docs", cwd=elsewhere)
    print("The wheel works.")


if __name__ == "__main__":
    main()
