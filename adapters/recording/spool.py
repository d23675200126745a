"""What could not be stored after a request was sent waits in files, and is stored later.

A file holds the events of one response or attempt as they are to be recorded, ids and all, and the
blobs that they refer to; since an event's id makes its append idempotent, each is recorded once,
however often the file is read. A file is whole or it is not there: written aside, flushed, renamed.
Its name begins with the id of its first event, which orders files by time, and holds that of its
conversation, by which it is found when that is to be forgotten.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final
from uuid import UUID

from onrecord.adapters.recording.answer_commits import record_answer
from onrecord.adapters.recording.unstored import (
    ClearFiles,
    PendingAppend,
    SpoolFiles,
    encoded,
    opened,
)
from onrecord.adapters.storage.atomic_files import write_atomically
from onrecord.adapters.storage.sqlite.url import path_of
from onrecord.adapters.storage.steps import beside_loop
from onrecord.adapters.streams.stream import Done, append_to, stored_again
from onrecord.adapters.wire.blob_bytes import Scratch, pieces_of
from onrecord.domain.errors import (
    ConversationForgotten,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    counted,
)
from onrecord.domain.header import parse_header
from onrecord.domain.log import Backend

logger = logging.getLogger("onrecord")

_CLEAR: Final = ClearFiles()
_WAITING: Final = ".spooled.json"
_REFUSED: Final = ".refused.json"
_TAKES_NOTHING: Final = (StorageBusy, StorageFull, StorageReadOnly, StorageUnavailable)
"""A store that says so would take no other entry either; any other error is about the entry."""


class RecordingWarning(UserWarning):
    """A response could not be recorded when it came; it was kept aside, or is about to be lost."""


class Spool:
    """A folder of what waits for one store; safe to share between threads and processes.

    What cannot even be written there is held in memory until the store or the folder can take it.
    """

    def __init__(self, folder: Path, files: SpoolFiles = _CLEAR) -> None:
        """Keep what waits in a folder of one log and tenant; it is made when it is needed.

        The log may be restored or fail over meanwhile: the ids of what waits tell what it has.
        `folder` is where they are, in `files` as the log writes them.
        """
        self.folder = folder
        self.scratch = Scratch(folder, files.is_encrypted)
        self._files = files
        self._in_memory: list[PendingAppend] = []
        self._lock = threading.Lock()
        self._may_wait = True
        self._unknown: set[UUID] = set()

    def put(self, unstored: PendingAppend, cause: BaseException) -> None:
        """Keep events for later and say so in the log; raises nothing but what a signal raises.

        They are kept then too: in memory until the store or the folder takes them.
        """
        self._may_wait = True
        try:
            path = self._write(unstored)
        except OSError as exc:
            with self._lock:
                self._in_memory.append(unstored)
            logger.critical(
                "a response could not be recorded (%s), nor written to %s (%s): it is held in "
                "memory until either can take it",
                type(cause).__name__,
                self.folder,
                exc.strerror,
            )
            return
        except BaseException:
            # One step: whether a file has it by then is told by its ids.
            self._in_memory.append(unstored)
            raise
        logger.error("a response could not be recorded (%s): kept in %s", cause, path)

    def store(
        self,
        backend: Backend,
        pending: PendingAppend,
        write: Callable[[], object],
        raised: tuple[type[Exception], ...] = (),
    ) -> None:
        """Store an answer, its events with `write`; keep it for later where that cannot be.

        It is dropped if the conversation was forgotten meanwhile. Only what is to be `raised` is.
        """
        try:
            _put_blobs(backend, pending)
            write()
        except raised:
            raise
        except ConversationForgotten:
            say_dropped()
        except BaseException as exc:
            # Interrupted or not, the log may have it: what is spooled is recorded once.
            self.put(pending, exc)
            if not isinstance(exc, Exception):
                raise

    def take_in(self, backend: Backend) -> int:
        """Record what waits, oldest first, and return how many answers (or failures) it was.

        Says so with a RecordingWarning. What can never be recorded is moved aside, loudly, and
        stops nothing else; what comes too late, for a forgotten conversation, is deleted. What is
        for a conversation that the log does not have goes on waiting, and that is said once.
        Raises the store's StorageError where it still takes nothing.
        """
        taken: list[bool] = []
        unknown = len(self._unknown)
        try:
            with self._lock:
                for unstored in tuple(self._in_memory):
                    taken.extend(self._take_held(backend, unstored))
                for path in self._waiting():
                    taken.extend(self._take_file(backend, path))
        finally:
            _say(taken.count(True), taken.count(False), len(self._unknown) - unknown)
        return taken.count(True)

    @property
    def may_wait(self) -> bool:
        """Whether something may wait, so that `settle` would look."""
        return self._may_wait

    def settle(self, backend: Backend) -> None:
        """Record what waits, as far as the store can, before anything else is said or read.

        Costs nothing where nothing waits: files that other processes left are looked for once.
        """
        if not self._may_wait:
            return
        self._may_wait = False
        try:
            # It waits for the log while it holds its lock.
            beside_loop(partial(self.take_in, backend))
        except StorageError as exc:
            self._may_wait = True
            logger.warning("what could not be recorded still waits (%s)", type(exc).__name__)
        except BaseException:
            self._may_wait = True
            raise

    def forget(self, conversation_id: UUID) -> None:
        """Delete what waits, or was put aside, of a conversation; StorageError where it cannot."""
        with self._lock:
            self._in_memory = [
                pending
                for pending in self._in_memory
                if pending.append.conversation_id != conversation_id
            ]
            try:
                for path in self.folder.glob(f"*.{conversation_id}.*"):
                    path.unlink(missing_ok=True)
            except OSError as exc:
                raise StorageError(
                    f"what waits in {self.folder} cannot be deleted ({exc.strerror}): "
                    "delete it by hand, or forget again when it can be"
                ) from exc

    def _take_held(self, backend: Backend, unstored: PendingAppend) -> Iterator[bool]:
        """Record what is held in memory, or move it aside; yield whether it was recorded."""
        try:
            if not self._has_begun(backend, unstored):
                return
            _record(backend, unstored)
        except _TAKES_NOTHING:
            raise
        except ConversationForgotten:
            say_dropped()
        except Exception as exc:  # noqa: BLE001 - named only: its text may quote
            _refused(f"what is held for {self.folder}", exc)
            yield False
            try:
                self._write(unstored, _REFUSED)
            except OSError:
                return  # It stays where it is: nothing else holds it.
        else:
            yield True
        self._in_memory = [pending for pending in self._in_memory if pending is not unstored]

    def _take_file(self, backend: Backend, path: Path) -> Iterator[bool]:
        """Record what a file holds, or move it aside; yield whether it was recorded."""
        try:
            with opened(path, self._files) as unstored:
                if not self._has_begun(backend, unstored):
                    return
                _record(backend, unstored)
            path.unlink(missing_ok=True)
        except FileNotFoundError:
            return  # Another process was quicker.
        except _TAKES_NOTHING:
            raise
        except ConversationForgotten:
            say_dropped()
            path.unlink(missing_ok=True)
        except Exception as exc:  # noqa: BLE001 - named only: its text may quote
            _refused(str(path), exc)
            with contextlib.suppress(OSError):
                path.rename(path.with_name(path.name.removesuffix(_WAITING) + _REFUSED))
            yield False
        else:
            yield True

    def _has_begun(self, backend: Backend, unstored: PendingAppend) -> bool:
        """Whether the log has the conversation; if not, it is another log than was written to."""
        append = unstored.append
        if backend.head(append.conversation_id).version:
            return True
        first = append.events[0].event_id
        if first not in self._unknown:
            self._unknown.add(first)
            logger.critical(
                "an answer waits in %s for conversation %s, which this log does not have: it "
                "stays there; was its spool copied, or the log restored from before it?",
                self.folder,
                append.conversation_id,
            )
        return False

    def _waiting(self) -> list[Path]:
        try:
            paths = [Path(entry.path) for entry in os.scandir(self.folder)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            logger.critical("what waits in %s cannot be read (%s)", self.folder, exc.strerror)
            return []
        return sorted(path for path in paths if path.name.endswith(_WAITING))

    def _write(self, unstored: PendingAppend, ending: str = _WAITING) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        append = unstored.append
        path = self.folder / f"{append.events[0].event_id}.{append.conversation_id}{ending}"
        write_atomically(path, self._files.written(append, encoded(unstored)), replace=True)
        return path


def spool_folder(
    url: str, log: str, tenant: UUID, environment: Mapping[str, str] = os.environ
) -> Path:
    """Return where a tenant's unrecorded responses wait; no two logs have the same folder.

    `log` is what tells a log from all others by whatever URL it is reached, and wherever it is
    restored or fails over to; each in memory is a log of its own.

    A store takes in its own tenant's only: where roles are bound to tenants it can do no other.

    It is under `$ONRECORD_SPOOL` if that is set, else beside the file of an SQLite store, else in
    the user's state folder (XDG Base Directory Specification).
    """
    return _log_folder(url, log, environment) / str(tenant)


def _log_folder(url: str, log: str, environment: Mapping[str, str]) -> Path:
    if chosen := environment.get("ONRECORD_SPOOL"):
        return Path(chosen) / log
    if url.startswith("sqlite:"):
        file = path_of(url)
        return file.with_name(file.name + "-spool")
    state = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "onrecord" / "spool" / log


def say_dropped() -> None:
    """Say that an answer was dropped, for its conversation was forgotten; raises nothing."""
    warn_quietly("an answer came for a conversation that was forgotten meanwhile: it was dropped")


def say_oversized() -> None:
    """Say that an answer was too long to be read; raises nothing."""
    warn_quietly("an answer was too long to be read: it is recorded as interrupted, with its bytes")


def warn_quietly(text: str) -> None:
    """Warn, in the log too; raises nothing, though warnings may be errors: the call goes on."""
    logger.warning(text)
    with contextlib.suppress(RecordingWarning):
        warnings.warn(text, RecordingWarning, stacklevel=5)


def _say(taken: int, refused: int, unknown: int) -> None:
    if taken:
        late = counted(taken, "answer")
        text = f"recorded late, for the store could not take them in time: {late}"
        logger.warning(text)
        warnings.warn(text, RecordingWarning, stacklevel=4)
    if refused:
        lost = counted(refused, "answer")
        text = f"never recorded, for the store refuses them: {lost}: see the log"
        warnings.warn(text, RecordingWarning, stacklevel=4)
    if unknown:
        kept = counted(unknown, "answer")
        text = f"kept, for a conversation that the log does not have: {kept}: see the log"
        warnings.warn(text, RecordingWarning, stacklevel=4)


def _refused(what: str, cause: Exception) -> None:
    logger.critical(
        "%s cannot be recorded (%s): it is put aside as *%s, look at it",
        what,
        type(cause).__name__,
        _REFUSED,
    )


def _record(backend: Backend, unstored: PendingAppend) -> None:
    """Record what waited, and the blobs that it refers to."""
    append = unstored.append
    request = parse_header(append.events[0].header).causation_id

    def record() -> Done:
        _put_blobs(backend, unstored)
        if request is None:
            return append_to(backend, append)
        # It may have been overtaken while it waited; what the log has by now is found by its ids.
        return record_answer(backend, append, request, version=0)

    stored_again(record)


def _put_blobs(backend: Backend, pending: PendingAppend) -> None:
    append = pending.append
    for content in pending.blobs.values():
        backend.put_blob(append.tenant, append.conversation_id, pieces_of(content))
