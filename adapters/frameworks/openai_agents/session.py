"""Sessions of the OpenAI Agents SDK: what its `Session` protocol asks for, over one log.

The protocol is `agents.memory.session.Session`, and docs/frameworks-openai-agents.md says how it is used. A
session is a conversation, an item of a run's history is an item of the stream that its branch is. The
SDK's items have no id that stands for them, so what comes twice is there twice. The verbs of branches
and usage are those of the SDK's `AdvancedSQLiteSession`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from onrecord.adapters.frameworks.openai_agents.branches import Branch
from onrecord.adapters.frameworks.openai_agents.compaction import (
    CompactionSnapshot,
    compaction_snapshot,
)
from onrecord.adapters.frameworks.openai_agents.stored_session import (
    StoredSession,
    items_of,
    new_items,
    stored_session,
)
from onrecord.adapters.frameworks.openai_agents.usage import (
    run_usage,
    turn_usages,
    usage_name,
    usage_sum,
)
from onrecord.adapters.frameworks.sessions import Sessions
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput, NotInstalled
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.openai_agents import OPENAI_AGENTS
from onrecord.projections.frameworks.openai_turns import (
    Turn,
    message_type,
    says,
    tool_counts,
    tool_name,
    turns_of,
)

try:
    from agents.memory.session_settings import (
        SessionSettings,
        coerce_session_settings,
        resolve_session_limit,
    )
except ModuleNotFoundError as exc:
    raise NotInstalled("the session of the SDK", "openai-agents", "openai-agents") from exc

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.result import RunResult
    from agents.run_context import RunContextWrapper

StoreFor: TypeAlias = "Callable[[RunContextWrapper[Any]], Store]"
"""What says, by the context of a run, in which store its history is."""

_IN_SHORT: Final = 100
"""Characters of a prompt in a list of turns."""


class OnrecordSession:
    """A `Session` for `Runner.run(agent, ..., session=...)`; safe to share between tasks.

    What is refused raises an `OnrecordError`, and nothing of it is recorded. Which branch is the
    current one is this object's own: another one of the same id begins on `main`.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        store: Store,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        store_for: StoreFor | None = None,
    ) -> None:
        """Keep the session of an id in a store; close the store when done.

        `store_for` takes the context of a run and returns the store that this run's history is in:
        one of the customer whom the run is for, say. All else is in `store`.
        """
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or SessionSettings())
        self.conversation_key = Sessions(store, OPENAI_AGENTS.name).key(session_id)
        self._store_for = store_for
        self._session = stored_session(store, session_id)
        self._sessions: WeakKeyDictionary[Store, StoredSession] = WeakKeyDictionary()

    # What a run asks for.

    async def get_items(
        self,
        limit: int | None = None,
        branch_id: str | None = None,
        *,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> list[TResponseInputItem]:
        """Return the history, or its last items, in order; `limit` before that of the settings.

        `branch_id` is the branch to read, instead of the current one.
        """
        last = resolve_session_limit(limit, self.session_settings)
        if last is not None and last <= 0:
            return []
        session = self._session_of(wrapper)
        loaded = await session.settled(partial(session.branches.load, branch_id, last))
        return items_of(loaded.items)

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Record items behind the history, all or none."""
        new, session = new_items(items), self._session_of(wrapper)
        await session.settled(partial(session.branches.add, new))

    async def pop_item(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> TResponseInputItem | None:
        """Take the last item off the history and return it; the record keeps it."""
        session = self._session_of(wrapper)
        popped = await session.settled(session.branches.pop)
        return None if popped is None else items_of((popped,))[0]

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Empty all branches, and go on with `main`; the record keeps them, and the id can be used again."""
        session = self._session_of(wrapper)
        await session.settled(session.branches.clear)

    # Branches.

    async def create_branch_from_turn(
        self, turn_number: int, branch_name: str | None = None
    ) -> str:
        """Begin a branch with what comes before a turn of the current one, go on with it, return its name.

        ValueError where no user's message begins that turn, or the session had a branch of that name.
        """
        return await self._session.settled(
            partial(self._session.branches.create, turn_number, branch_name)
        )

    async def create_branch_from_content(
        self, search_term: str, branch_name: str | None = None
    ) -> str:
        """Begin a branch before the first turn whose prompt holds a text, and go on with it.

        ValueError where none does, or the session had a branch of that name.
        """
        turns = await self.find_turns_by_content(search_term)
        if not turns:
            raise InvalidInput("no turn of the branch has a prompt that says this")
        return await self.create_branch_from_turn(turns[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        """Go on with another branch; ValueError where it is not there."""
        await self._session.settled(partial(self._session.branches.switch, branch_id))

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:
        """Let a branch hold nothing; the record keeps it, and its name is not given again.

        ValueError for `main`, for one that is not there, and for the current one without `force`:
        with it, the session goes on with `main`.
        """
        await self._session.settled(partial(self._session.branches.delete, branch_id, force=force))

    async def list_branches(self) -> list[JsonObject]:
        """Return what each branch is: `branch_id`, `message_count`, `user_turns`, `is_current`, `created_at`."""
        branches = self._session.branches

        def listed() -> list[JsonObject]:
            current = branches.resolved()
            return [_branch_entry(branch, current) for branch in branches.all()]

        return await self._session.settled(listed)

    # Turns of a branch, the current one where none is named.

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[JsonObject]:
        """Return the turns: `turn`, `content` in short, `full_content`, `timestamp`, `can_branch`."""
        branch = await self._branch(branch_id)
        return [_turn_entry(turn, branch, _IN_SHORT) for turn in _prompted(branch)]

    async def find_turns_by_content(
        self, search_term: str, branch_id: str | None = None
    ) -> list[JsonObject]:
        """Return the turns whose prompt holds a text, in upper or lower case; `content` is all of it."""
        branch = await self._branch(branch_id)
        found = (turn for turn in _prompted(branch) if says(turn.content, search_term))
        return [_turn_entry(turn, branch, None) for turn in found]

    async def get_conversation_by_turns(
        self, branch_id: str | None = None
    ) -> dict[int, list[dict[str, str | None]]]:
        """Return the `type` and `tool_name` of each item, by the number of its turn."""
        branch = await self._branch(branch_id)
        return {
            turn.number: [
                {"type": message_type(item.item), "tool_name": tool_name(item.item)}
                for item in turn.items
            ]
            for turn in turns_of(branch.items)
        }

    async def get_tool_usage(self, branch_id: str | None = None) -> list[tuple[str, int, int]]:
        """Return each tool that a turn calls, how often, and the number of the turn."""
        branch = await self._branch(branch_id)
        return [
            (name, count, turn.number)
            for turn in turns_of(branch.items)
            for name, count in tool_counts(turn)
        ]

    # Usage.

    async def store_run_usage(self, result: RunResult) -> None:
        """Record the usage of a run with the last turn of the current branch, once the run is over."""
        value, branches = run_usage(result), self._session.branches

        def store() -> None:
            if (turn := branches.last_turn()) is not None:
                branches.put(turn.branch, {usage_name(turn.begin): value})

        await self._session.settled(store)

    async def get_session_usage(self, branch_id: str | None = None) -> dict[str, int] | None:
        """Return the sums over the turns of a branch, or of all: of requests, of tokens, `total_turns`."""
        if branch_id:
            return usage_sum([await self._branch(branch_id)])
        return usage_sum(await self._session.settled(self._session.branches.all))

    async def get_turn_usage(
        self, user_turn_number: int | None = None, branch_id: str | None = None
    ) -> list[JsonObject] | JsonObject:
        """Return the usage of one turn (nothing: `{}`), or of all, each with its `user_turn_number`."""
        usages = turn_usages(await self._branch(branch_id))
        if user_turn_number is not None:
            return dict(usages).get(user_turn_number, {})
        return [{"user_turn_number": number, **usage} for number, usage in usages]

    # How it is done.

    def _session_of(self, wrapper: RunContextWrapper[Any] | None) -> StoredSession:
        """Return the session in the store that a run's history is in."""
        if wrapper is None or self._store_for is None:
            return self._session
        store = self._store_for(wrapper)
        if (session := self._sessions.get(store)) is None:
            session = self._sessions[store] = stored_session(store, self.session_id)
        return session

    async def _branch(self, branch_id: str | None) -> Branch:
        return await self._session.settled(partial(self._session.branches.one, branch_id))

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> CompactionSnapshot:
        return await compaction_snapshot(self._session, limit, prune_prefix)


def _prompted(branch: Branch) -> list[Turn]:
    """Return the turns that a user's message begins."""
    return [turn for turn in turns_of(branch.items) if turn.number]


def _turn_entry(turn: Turn, branch: Branch, longest: int | None) -> JsonObject:
    return {
        "turn": turn.number,
        "content": _preview(turn.content, longest),
        "full_content": turn.content,
        "timestamp": _time(branch.recorded_at[turn.first.version]),
        "can_branch": True,
    }


def _branch_entry(branch: Branch, current: str) -> JsonObject:
    began = branch.begun or (branch.items[0].version if branch.items else None)
    return {
        "branch_id": branch.name,
        "message_count": len(branch.items),
        "user_turns": len(_prompted(branch)),
        "is_current": branch.name == current,
        "created_at": None if began is None else _time(branch.recorded_at[began]),
    }


def _preview(content: Any, longest: int | None) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return text if longest is None or len(text) <= longest else f"{text[:longest]}..."


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat()
