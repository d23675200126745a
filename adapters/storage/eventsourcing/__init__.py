"""The persistence modules of the `eventsourcing` library on our log."""
