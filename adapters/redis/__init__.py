"""Redis beside a log: it makes things quick and is never asked what is true (docs/redis.md)."""
