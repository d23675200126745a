"""What holds for every test."""

from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, nothing about the code. The same code
# gets the same verdict, so examples are drawn alike each time; `make soak` searches among new ones.
settings.register_profile(
    "alike", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("searching", settings.get_profile("alike"), derandomize=False)
settings.load_profile("alike")
