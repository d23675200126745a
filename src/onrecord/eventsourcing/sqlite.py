"""PERSISTENCE_MODULE=onrecord.eventsourcing.sqlite: an application's events in a SQLite log."""

from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory

__all__ = ["SqliteFactory"]
