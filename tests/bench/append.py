"""The append of a user's and an assistant's message, as conversations grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.log import Append
from tests.bench.measure import Aim, Contender, Figures, Measure, Work, take_turns
from tests.bench.pairings import GUARANTEES, Pairing
from tests.bench.payload import answer, prompt, text
from tests.factories import drafted

_AIMS: Final = {"sqlite": Aim(1), "postgres": Aim(1, "below")}
FLAT: Final = Aim(1.1)
"""Last over first, of ours."""


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield ours beside OpenAI Agents at each size, how flat ours is, and the checkpointers."""
    yield from _beside_sessions(pairing)
    if pairing.workspace.peers:
        yield from _beside_checkpointers(pairing)


def _beside_sessions(pairing: Pairing) -> Iterator[Measure]:
    sizes = pairing.workspace.scale.sizes
    sides = [side for size in sizes for side in _sides(pairing, size)]
    pairing.workspace.say(f"append, {pairing.database}: {len(sides)} sides in turn")
    shown = iter(take_turns(sides, pairing.workspace.scale.pace))
    ours: list[Figures] = []
    for size in sizes:
        chat, backend = next(shown), next(shown)
        peer = next(shown) if pairing.workspace.peers else None
        name = f"append.{pairing.database}.{size}"
        yield Measure(name, "ms", chat, peer, None if peer is None else _AIMS[pairing.database])
        yield Measure(f"{name}.backend", "ms", backend, peer)
        ours.append(chat)
    yield Measure(f"append.{pairing.database}.flat", "ms", ours[-1], ours[0], FLAT)


def _beside_checkpointers(pairing: Pairing) -> Iterator[Measure]:
    for size in pairing.workspace.scale.checkpoint_sizes:
        sides = (_chat(pairing, size), _checkpoint(pairing, size))
        pairing.workspace.say(f"append, {pairing.database}: checkpoints of {size:,} messages")
        ours, peer = take_turns(sides, pairing.workspace.scale.pace)
        yield Measure(
            f"append.{pairing.database}.{size}.checkpointer",
            "ms",
            ours,
            peer,
            note="a checkpoint holds all messages, so its cost grows with them: "
            "not run at the sizes above this one",
        )


def _sides(pairing: Pairing, size: int) -> Iterator[Contender]:
    yield _chat(pairing, size)
    yield _backend(pairing, size)
    if pairing.workspace.peers:
        yield _session(pairing, size)


def _chat(pairing: Pairing, size: int) -> Contender:
    chats = pairing.chats(size, "said")

    def prepare(number: int) -> Work:
        chat = chats[number % len(chats)]
        said = (prompt(), answer())
        return lambda: chat.log.append(*said)

    what = f"Conversation.log.append of two messages to one of {size:,}"
    return Contender(what, GUARANTEES[pairing.database], prepare)


def _backend(pairing: Pairing, size: int) -> Contender:
    chats = pairing.chats(size, "said")

    def prepare(number: int) -> Work:
        chat = chats[number % len(chats)]
        ready = tuple(
            drafted(event, chat.conversation_id, tenant=stream_of(chat).tenant)
            for event in (prompt(), answer())
        )
        request = (Append(stream_of(chat).tenant, chat.conversation_id, ready),)
        return lambda: stream_of(chat).backend.append(request)

    what = f"Backend.append of two drafted messages to one of {size:,}"
    return Contender(what, GUARANTEES[pairing.database], prepare)


def _session(pairing: Pairing, size: int) -> Contender:
    held = pairing.sessions(size)

    def prepare(number: int) -> Work:
        session = held.sessions[number % len(held.sessions)]
        items = [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}]
        return lambda: session.add_items(items)

    what = f"OpenAI Agents {pairing.session_name}.add_items of two to one of {size:,}"
    return Contender(what, GUARANTEES[pairing.database], prepare, held.loop.clock)


def _checkpoint(pairing: Pairing, size: int) -> Contender:
    threads = pairing.threads(size)

    def prepare(number: int) -> Work:
        thread, said, answered = threads[number % len(threads)], text(), text()
        return lambda: thread.put_pair(said, answered)

    what = f"LangGraph {pairing.saver_name}.put, once for the two, on a state of {size:,} messages"
    return Contender(what, GUARANTEES[pairing.database], prepare)
