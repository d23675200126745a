"""How bodies stand encrypted in the log, and what keys they are under."""
