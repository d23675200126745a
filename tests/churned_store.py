"""A store in which much is said, changed and looked at, and pieces of what was said in it.

The pieces are kept in memory alone: no file of the test's own holds them.
"""

from __future__ import annotations

from random import Random
from typing import Final

from onrecord.adapters.conversation.conversation import Conversation
from onrecord.adapters.store import Store
from onrecord.projections.views.registry import VIEWS
from tests.factories import BECAUSE, answer, tool_call

PIECE: Final = 24
PIECES: Final = 64
WORD: Final = 32


class ChurnedStore:
    """Conversations of random content, and 64 random pieces of each content that they hold."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self._random = Random(seed)
        self._pieces: dict[str, list[bytes]] = {}

    def begin(self, conversations: int) -> None:
        """Begin conversations whose keys are content too."""
        for _ in range(conversations):
            key = self._random.randbytes(WORD).hex()
            self._pieces[key] = []
            self._take(key, key)
            self._chat(key).user(self._text(key))

    def churn(self, steps: int) -> None:
        """Say and change things in conversations that are drawn at random, and read the views."""
        for step in range(steps):
            key = self._random.choice(list(self._pieces))
            self._say(key)
            if step % 20 == 0:
                self.read_views()

    def read_views(self) -> None:
        """Read each view, so that it holds what there is."""
        views = self.store.views
        views.usage()
        views.search("nothing")
        views.audit(limit=1)
        views.conversations(limit=1)
        views.tool_calls(limit=1)
        views.window(next(iter(self._pieces)))

    def rebuild(self) -> None:
        """Make each view anew: the rows of before are deleted."""
        for name in VIEWS:
            self.store.views.keeper.rebuild(name)

    def forget_some(self) -> list[bytes]:
        """Forget about half of the conversations; return the pieces of what was said there."""
        keys = self._random.sample(list(self._pieces), len(self._pieces) // 2)
        for key in keys:
            self.store.forget(key, **BECAUSE)
        return [piece for key in keys for piece in self._pieces.pop(key)]

    def kept(self) -> list[bytes]:
        """Return the pieces of what was said in the conversations that are there."""
        return [piece for pieces in self._pieces.values() for piece in pieces]

    def _say(self, key: str) -> None:
        chat = self._chat(key)
        match self._random.randrange(8):
            case 0 | 1:
                chat.user(self._text(key), documents=self._documents(key))
            case 2 | 3:
                chat.log.append(answer(self._text(key)))
            case 4:
                name, call = self._word(key), self._word(key)
                chat.log.append(tool_call(call, name))
            case 5:
                for awaited in chat.open_calls()[:1]:
                    chat.tool_result(awaited.id, {"found": self._text(key)})
            case 6:
                chat.redact(self._random.randrange(1, chat.head().version + 1))
            case _:
                chat.instruct(self._text(key))
                if not chat.head().open_calls:
                    chat.annotate({"note": self._word(key)})

    def _chat(self, key: str) -> Conversation:
        return self.store.conversation(key)

    def _documents(self, key: str) -> list[bytes]:
        if self._random.random() < 0.7:
            return []
        data = self._random.randbytes(self._random.randrange(PIECE, 6000))
        self._take(key, data)
        return [data]

    def _text(self, key: str) -> str:
        words = [self._random.randbytes(WORD // 2).hex() for _ in range(self._length())]
        for word in self._random.sample(words, min(3, len(words))):
            self._take(key, word)
        text = " ".join(words)
        self._take(key, text)
        return text

    def _length(self) -> int:
        return self._random.choice((1, 2, 5, 20, 60, 150))

    def _word(self, key: str) -> str:
        word = self._random.randbytes(WORD // 2).hex()
        self._take(key, word)
        return word

    def _take(self, key: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        starts = [self._random.randrange(len(data) - PIECE + 1) for _ in range(PIECES)]
        self._pieces[key] += {data[start : start + PIECE] for start in starts}


def found_in(pieces: frozenset[bytes], data: bytes) -> set[bytes]:
    """Return which of the pieces are somewhere in data."""
    return {
        piece for at in range(len(data) - PIECE + 1) if (piece := data[at : at + PIECE]) in pieces
    }
