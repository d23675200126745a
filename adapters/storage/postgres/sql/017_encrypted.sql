-- Whether the log is encrypted: then nothing appends in clear what a conversation says. All rows say the same;
-- {log}.mark_encrypted sets it, and nothing takes it back. It is in the row that each append locks, so no
-- append misses it, and none looks for it elsewhere.
ALTER TABLE {log}.shard_lock ADD COLUMN encrypted boolean NOT NULL DEFAULT false;

-- A log from before is encrypted if the first or the last event of a conversation in a shard is.
UPDATE {log}.shard_lock SET encrypted = true
WHERE EXISTS (
    SELECT FROM {log}.shard_lock AS l CROSS JOIN LATERAL (
        (
            SELECT e.header FROM {log}.event AS e JOIN {log}.tenant AS t ON t.tenant = e.tenant
            WHERE e.shard = l.shard AND t.operators_of IS NULL
                AND substring(e.header FROM position('"codec":"'::bytea IN e.header) FOR 13)
                    = '"codec":"json'::bytea
            ORDER BY e.position LIMIT 1
        ) UNION ALL (
            SELECT e.header FROM {log}.event AS e JOIN {log}.tenant AS t ON t.tenant = e.tenant
            WHERE e.shard = l.shard AND t.operators_of IS NULL
                AND substring(e.header FROM position('"codec":"'::bytea IN e.header) FOR 13)
                    = '"codec":"json'::bytea
            ORDER BY e.position DESC LIMIT 1
        )
    ) AS f
    WHERE substring(f.header FROM position('"codec":"'::bytea IN f.header) FOR 26)
        = '"codec":"json+aes-256-gcm"'::bytea
);
