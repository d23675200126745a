"""What holds for every test."""

from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, nothing about the code.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
