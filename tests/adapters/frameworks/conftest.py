"""Each test of framework sessions gets an empty store of each backend."""

from tests.contract.conftest import backend, durable_place, place

__all__ = ["backend", "durable_place", "place"]
