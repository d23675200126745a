"""PERSISTENCE_MODULE=onrecord.eventsourcing.postgres: an application's events in a PostgreSQL log."""

from onrecord.adapters.storage.eventsourcing.postgres import PostgresFactory, PostgresViewTracking

__all__ = ["PostgresFactory", "PostgresViewTracking"]
