-- The names of those who act, whose keyed digests stand in the headers of events. `actor_id` is what a name
-- is erased by, as a conversation is by its id (domain/erasures.py); it is the tenant's own, as its names are.
CREATE TABLE {log}.actor_name (
    tenant uuid NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 16),
    actor_id uuid NOT NULL,
    name bytea NOT NULL,                    -- UTF-8
    PRIMARY KEY (tenant, digest)
);
CREATE INDEX actor_name_id ON {log}.actor_name (actor_id);
