"""Names of a test's cases that are the same in each process that collects them."""

import re


def without_address(value: object) -> str:
    """What a value is shown as, less the address of an object, which each process has its own of."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
