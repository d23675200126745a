-- Whether the log is encrypted: then nothing appends in clear what a conversation says. It is never taken back.
ALTER TABLE meta ADD COLUMN encrypted INTEGER NOT NULL DEFAULT 0;

-- A log from before is encrypted if its first or its last event of a conversation is. Those of operators, by
-- their types, and of other applications, by their codecs, are in clear in any log.
UPDATE meta SET encrypted = 1
WHERE EXISTS (
  SELECT 1 FROM (
    SELECT header FROM (
    SELECT header FROM event
    WHERE substr(header, instr(header, CAST('"codec":"' AS BLOB)), 13) = CAST('"codec":"json' AS BLOB)
      AND type NOT GLOB 'access.*' AND type NOT GLOB 'erasure.*' AND type NOT GLOB 'hold.*'
      AND type NOT GLOB 'key.*' AND type NOT GLOB 'retention.*' AND type NOT GLOB 'subject_key.*'
    ORDER BY position LIMIT 1
    )
    UNION ALL
    SELECT header FROM (
    SELECT header FROM event
    WHERE substr(header, instr(header, CAST('"codec":"' AS BLOB)), 13) = CAST('"codec":"json' AS BLOB)
      AND type NOT GLOB 'access.*' AND type NOT GLOB 'erasure.*' AND type NOT GLOB 'hold.*'
      AND type NOT GLOB 'key.*' AND type NOT GLOB 'retention.*' AND type NOT GLOB 'subject_key.*'
    ORDER BY position DESC LIMIT 1
    )
  )
  WHERE substr(header, instr(header, CAST('"codec":"' AS BLOB)), 26) = CAST('"codec":"json+aes-256-gcm"' AS BLOB)
);

PRAGMA user_version = 4;
