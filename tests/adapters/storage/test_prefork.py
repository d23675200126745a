"""A prefork server: what is made before the fork is used in every child."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from tests.adapters.openai_clients import ANSWERED, types
from tests.adapters.openai_server import JsonObject, OpenAIServer, Says
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS

CHILDREN = 4
ROUNDS = 3

PROGRAM = """
import os, sys, threading
import openai
import onrecord

url, server, children, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def new_client():
    return openai.OpenAI(api_key="sk-canary-0123456789", base_url=server)

# As gunicorn does with --preload: the application is made first, then its workers are forked.
store = onrecord.connect(url)
unrecorded = new_client()
of_store = store.record(new_client(), unbound="refuse")
shared = store.conversation("shared")
of_chat = shared.record(new_client())
lobby = store.conversation("lobby")
lobby.user("The store is open before the fork")
with lobby.recording():
    pass

def serve(number):
    # A connection that was opened before the fork would be the parent's: none was.
    chat = store.conversation(f"child/{number}")
    for _ in range(rounds):
        said = [{"role": "user", "content": f"I am child {number}"}]
        ask = dict(model="gpt-5", messages=said)
        of_store.chat.completions.create(**ask, extra_headers=chat.headers)
        with chat.recording():
            unrecorded.chat.completions.create(**ask)
        of_chat.chat.completions.create(**ask)

pids = []
for number in range(children):
    pid = os.fork()
    if pid == 0:
        try:
            serve(number)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    pids.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
serve(children)
store.close()
sys.exit(max(codes))
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def echo(request: JsonObject) -> Says:
    return Says(f"Welcome: {request['messages'][-1]['content']}")


@pytest.fixture(params=["sqlite", *(f"postgresql {version}" for version in VERSIONS)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    kind, _, version = request.param.partition(" ")
    yield f"sqlite:///{tmp_path / 'talks.db'}" if kind == "sqlite" else fresh_log(version)


def test_children_record_with_what_was_made_before_the_fork(url: str, tmp_path: Path) -> None:
    with OpenAIServer(echo) as server:
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                PROGRAM,
                url,
                server.url,
                str(CHILDREN),
                str(ROUNDS),
            ],
            env={**os.environ, "ONRECORD_SPOOL": str(tmp_path / "spool")},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert (done.returncode, done.stderr) == (0, "")
    with onrecord.connect(url) as store:
        everyone = range(CHILDREN + 1)
        for number in everyone:
            found = types(store.conversation(f"child/{number}"))
            assert found[: len(ANSWERED)] == ANSWERED
            assert found.count("response.completed") == 2 * ROUNDS
        shared = types(store.conversation("shared"))
        assert shared.count("request.sent") == ROUNDS * len(everyone)
        assert shared.count("response.completed") == ROUNDS * len(everyone)
        keys = {listed.key for listed in store.conversations()}
        assert keys == {"shared", "lobby", *(f"child/{number}" for number in everyone)}
        assert store.verify().is_whole
    assert not list((tmp_path / "spool").rglob("*.json"))
