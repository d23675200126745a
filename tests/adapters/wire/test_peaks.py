"""What recording a large answer costs in memory, beside the bare SDK that reads the same answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.wire.large_answers import Reading

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a peak is read from /proc"),
    pytest.mark.timeout(1800),
]

PROGRAM = (sys.executable, "-W", "ignore", "-m", "tests.adapters.wire.large_answers")
MIB = 1024**2
READ = 48 * MIB

SHORT = [
    ("anthropic-wide", 48_000_000, "sync"),
    ("anthropic-cut", 10_000_000, "async"),
    ("chat-body", 64_000_000, "sync"),
    ("chat-zeros", 64_000_000, "async"),
    ("chat-bomb", 48_000_000, "sync"),
]
LONG = [
    *(
        (f"{api}-{shape}", 200_000_000, way)
        for api in ("anthropic", "chat", "responses")
        for shape in ("deltas", "block")
        for way in ("sync", "async")
    ),
    *(("anthropic-wide", size, "sync") for size in (48_000_000, 200_000_000)),
    *(("anthropic-cut", size, "sync") for size in (48_000_000, 200_000_000)),
    *((f"{api}-deltas", 48_000_000, "sync") for api in ("anthropic", "chat", "responses")),
    *(
        (f"chat-{kind}", 300_000_000, way)
        for kind in ("zeros", "bomb")
        for way in ("sync", "async")
    ),
    ("chat-block", 64_000_000, "async"),
    *(("chat-body", 200_000_000, way) for way in ("sync", "async")),
]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with subprocess.Popen(
        [*PROGRAM, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdin is not None
        assert serving.stdout is not None
        yield f"http://127.0.0.1:{int(serving.stdout.readline())}"
        serving.stdin.close()
        serving.wait(60)


def read(service: str, kind: str, size: int, who: str, way: str, folder: Path) -> Reading:
    command = [*PROGRAM, "read", service, kind, str(size), who, way, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stderr[-2000:]
    return Reading(**json.loads(done.stdout))


def costs_little(service: str, kind: str, size: int, way: str, folder: Path) -> Reading:
    """Hold a recorded answer to the bare one's peak, and to what its program sees."""
    bare = read(service, kind, size, "bare", way, folder)
    recorded = read(service, kind, size, "recorded", way, folder)
    assert (recorded.digest, recorded.failure) == (bare.digest, bare.failure)
    assert recorded.peak <= bare.peak * 1.5 + 64 * MIB, (
        f"{kind} of {size} bytes, {way}: {recorded.peak // MIB} MiB beside {bare.peak // MIB}"
    )
    print(
        f"{kind} {size} {way}: {recorded.peak // MIB} MiB beside {bare.peak // MIB}; "
        f"{recorded.seconds:.1f} s beside {bare.seconds:.1f}; {recorded.reason}"
    )
    return recorded


@pytest.mark.parametrize(("kind", "size", "way"), SHORT)
def test_a_large_answer_is_recorded_in_little_more_memory_than_it_is_read(
    service: str, kind: str, size: int, way: str, tmp_path: Path
) -> None:
    recorded = costs_little(service, kind, size, way, tmp_path)
    _is_recorded_by_its_length(recorded, kind, size)
    assert [path for path in tmp_path.rglob("*spool*/**/*") if path.is_file()] == []


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "size", "way"), LONG)
def test_the_largest_answers_are_as_well(
    service: str, kind: str, size: int, way: str, tmp_path: Path
) -> None:
    _is_recorded_by_its_length(costs_little(service, kind, size, way, tmp_path), kind, size)


def _is_recorded_by_its_length(recorded: Reading, kind: str, size: int) -> None:
    if size > READ:
        assert (recorded.closing, recorded.reason) == ("ResponseInterrupted", "oversized")
        assert recorded.raw
    elif kind in ("chat-zeros", "anthropic-cut"):
        assert recorded.closing == "ResponseInterrupted"
        assert recorded.raw
    else:
        assert recorded.closing == "ResponseCompleted"
