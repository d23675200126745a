"""Taking out of the views' file what the log has erased.

Whoever calls has the turn of the file. The log counts its erasures, and the file says how many of
them are done in it. The write-ahead log is emptied afterwards, for it holds the pages as they were.
"""

from __future__ import annotations

from onrecord.adapters.storage.sqlite_connection import Session
from onrecord.adapters.views.sqlite_views_file import ViewsFile
from onrecord.domain.log import Backend
from onrecord.projections.views.registry import VIEWS


def erase(log: Backend, file: ViewsFile, *, patiently: bool = False) -> bool:
    """Take out of all views what the log has erased since.

    Returns whether no file holds it any more: a reader may still need the write-ahead log, who is
    waited for if that is to be done patiently. It is tried again whenever something is read.
    """
    done, unemptied = _done(file)
    due = log.erasures()
    if due < done:
        # An older file was put in the log's place: what came since is not in it, nor its erasures.
        file.begin_anew(log.incarnation())
        done, unemptied = 0, False
    if due > done:
        with file.transaction() as session:
            for conversation in log.erased(done)[: due - done]:
                _take_out(session, str(conversation))
            session.run("set_erasures", due)
    if due == done and not unemptied:
        return True
    if emptied := file.empty_wal(patiently=patiently):
        with file.transaction() as session:
            session.run("unmark_unemptied")
    return emptied


def _done(file: ViewsFile) -> tuple[int, bool]:
    with file.borrowed() as session:
        done, unemptied = session.one("erasing") or (0, 0)
    return done, bool(unemptied)


def _take_out(session: Session, conversation: str) -> None:
    for name in VIEWS:
        session.run(f"{name}_forget", conversation)
    session.run("retry_erased", conversation)
