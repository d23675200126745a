"""The tests that a framework ships with its source, of the release that is installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path


def source_of(distribution: str) -> Path:
    """Return the folder of the source of an installed release, downloaded from the package index once."""
    release = f"{distribution.replace('-', '_')}-{version(distribution)}"
    kept = Path(sys.prefix) / "sources"
    kept.mkdir(exist_ok=True)
    if not (kept / release).exists():
        with tempfile.TemporaryDirectory(dir=kept) as folder:
            asked = f"{distribution}=={version(distribution)}"
            subprocess.run(
                [
                    *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                    *("--no-binary", distribution, "--dest", folder, asked),
                ],
                check=True,
                timeout=300,
            )
            (archive,) = Path(folder).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            # Another worker of the tests may have been first.
            if not (kept / release).exists():
                (Path(folder) / release).rename(kept / release)
    return kept / release


def run_tests(source: Path, *arguments: str, timeout: float = 500) -> str:
    """Run tests of a source in a process of their own and return what pytest printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *arguments]
    ran = subprocess.run(
        command, cwd=source, capture_output=True, text=True, timeout=timeout, check=False
    )
    return ran.stdout + ran.stderr
