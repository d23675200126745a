-- For whom it was done: the keyed digest of a name, as that of who did it.
ALTER TABLE {log}.view_audit ADD COLUMN on_behalf_of text;

-- The server keeps no statistics of it, as of all that tells who did what; Citus has it set on each shard.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'citus') THEN
        ALTER TABLE {log}.view_audit ALTER COLUMN on_behalf_of SET STATISTICS 0;
    END IF;
END $$;
