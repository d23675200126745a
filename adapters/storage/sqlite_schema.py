"""What a SQLite file was made of: its steps, and that they are those of a release."""

from __future__ import annotations

from collections.abc import Iterable

from onrecord.adapters.storage.queries import Migration, load_migrations
from onrecord.adapters.storage.sqlite_connection import Session


def run_steps(session: Session, steps: Iterable[Migration]) -> None:
    """Run steps, and write down what each of them was."""
    for step in steps:
        session.migrate(step.sql)
        session.run("note_migration", step.version, step.digest)


def is_of_a_release(session: Session, dialect: str) -> bool:
    """Whether each step of a file that this release knows too is the same one."""
    (keeps_them,) = session.one("keeps_migrations") or (0,)
    if not keeps_them:
        return False
    made_of: dict[object, object] = dict(session.all("select_migrations"))
    known = load_migrations(dialect)[: len(made_of)]
    return bool(made_of) and all(made_of.get(step.version) == step.digest for step in known)
