"""Test on the newest Python of this machine: the core, and the stores that need no server.

`python -m tests.newest FOLDER` makes an environment in FOLDER with the newest Python that is
installed and all that the lock file pins, and says which Python it is. An environment that is
there is made anew. Where no Python is newer than the one that runs this, it says so and tests nothing.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
TESTS = ("domain", "projections", "adapters/conversation", "test_architecture.py")
STORES = "(memory or sqlite) and not postgres"


def main(folder: Path) -> int:
    """Return the exit code of the tests; 0 where there is no newer Python."""
    found = newest()
    if found is None:
        print(f"No Python newer than {sys.version.split()[0]} is installed here: not tested.")
        return 0
    version, program = found
    print(f"Testing on Python {'.'.join(map(str, version))}", flush=True)
    python = environment(folder, program, LOCK)
    runs = ([f"tests/{each}" for each in TESTS], ["tests/contract", "-k", STORES])
    return max(subprocess.call([python, "-m", "pytest", "-n", "2", *run], cwd=ROOT) for run in runs)


def newest() -> tuple[tuple[int, ...], Path] | None:
    """Return the version and the program of the newest Python that runs here, newer than ours."""
    known = {version: program for program in programs() if (version := version_of(program))}
    newer = [version for version in known if version[:2] > sys.version_info[:2]]
    return (max(newer), known[max(newer)]) if newer else None


def programs() -> Iterator[Path]:
    """Yield what may be a Python: on the path, and in the folders of pyenv and uv."""
    for folder in os.environ["PATH"].split(os.pathsep):
        yield from sorted(Path(folder).glob("python3.*"))
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob("versions/*/bin/python"))
    yield from sorted(Path.home().glob(".local/share/uv/python/*/bin/python"))


def version_of(program: Path) -> tuple[int, ...]:
    """Return the version of a Python, `(3, 13, 0)`; empty for what is none, or none released."""
    if not re.fullmatch(r"python(3\.\d+)?", program.name):
        return ()
    ask = "import sys; print(*sys.version_info[:4])"
    try:
        run = subprocess.run(
            [program, "-c", ask], capture_output=True, check=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    *numbers, level = run.stdout.split()
    return tuple(map(int, numbers)) if level == "final" else ()


def environment(folder: Path, program: Path, lock: Path) -> Path:
    """Return the Python of a fresh environment that has what a lock file pins, and Onrecord."""
    if folder.exists() and not (folder / "pyvenv.cfg").is_file():
        raise SystemExit(f"{folder} is no environment of Python: name another folder")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([program, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = (str(python), "-m", "pip", "install", "--quiet")
    subprocess.run([*install, "--requirement", str(lock)], check=True)
    own = ("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    subprocess.run([*install, *own], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
