-- Creates a consumer ($2) of a tenant ($1) with its owner ($3), channels ($4), bounds ($5, $6) place ($7 to $9)
-- and filter ($10, or null). It is part of a transaction that has locked the journal.
INSERT INTO consumers
    (tenant, name, owner, channels, created_at, max_age, max_bytes, position, position_at, bytes, filter)
VALUES ($1, $2, $3, $4, now(), $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING
