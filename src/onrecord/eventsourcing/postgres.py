"""PERSISTENCE_MODULE=onrecord.eventsourcing.postgres: an application's events in a PostgreSQL log."""

from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory, PostgresViewTracking
from onrecord.adapters.storage.postgres.postgres import open_postgres

__all__ = ["PostgresFactory", "PostgresViewTracking", "open_postgres"]
