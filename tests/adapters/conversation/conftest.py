"""Stores of each kind, as tests of tools have them."""

from tests.adapters.tools.conftest import store

__all__ = ["store"]
