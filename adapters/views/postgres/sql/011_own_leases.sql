-- Who knows a projection of one's own leases its parts: a worker that does not know it has none of them.
--
-- `view` is the projection whose parts are leased, and at which a worker is; '' is the maintained views,
-- which are folded together.
ALTER TABLE {log}.part ADD COLUMN view text NOT NULL DEFAULT '';
ALTER TABLE {log}.part DROP CONSTRAINT part_pkey;
ALTER TABLE {log}.part ADD PRIMARY KEY (view, shard, part);
ALTER TABLE {log}.worker ADD COLUMN view text NOT NULL DEFAULT '';
ALTER TABLE {log}.worker DROP CONSTRAINT worker_pkey;
ALTER TABLE {log}.worker ADD PRIMARY KEY (view, name);
