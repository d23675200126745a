"""What holds for every test."""

import signal
import threading

import pytest
from hypothesis import HealthCheck, settings

from tests.memory_folder import write_in_memory
from tests.search import WHOLE, is_drawn, is_whole

write_in_memory()

# How long an example takes says something about the machine, nothing about the code. The same code
# gets the same verdict, so examples are drawn alike each time; `make soak` searches among new ones.
settings.register_profile(
    "alike", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile(WHOLE, settings.get_profile("alike"), derandomize=False)
settings.load_profile("alike")

# A shell lets its jobs in the background ignore Ctrl-C, and children inherit that: those that a test
# interrupts would go on.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all but a twentieth of the cases of a search."""
    if is_whole():
        return
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        is_case = item.get_closest_marker("search") is not None
        (left_out if is_case and not is_drawn(item.nodeid) else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
