-- Takes the first free slot. An expired lease counts for a margin longer, so that the next holder need not skip the
-- milliseconds that the previous one reserved for ids. Returns no row if none is free, or if another server was
-- faster.
WITH free AS (
    SELECT n.slot
    FROM generate_series(0, 255) AS n (slot)
    LEFT JOIN servers s ON s.slot = n.slot
    WHERE s.slot IS NULL
        OR s.leased_until < now() - make_interval(secs => $9)
    ORDER BY n.slot
    LIMIT 1
)
INSERT INTO servers AS s
    (slot, incarnation, name, version, address, connections, state, started_at, leased_until, ids_until, signer,
     journal_writer)
SELECT free.slot, $1, $2, $3, $4, $5, $6, now(), now() + make_interval(secs => $10), $7::bigint + $8::bigint, $1, $1
FROM free
ON CONFLICT (slot) DO UPDATE
SET
    incarnation = excluded.incarnation,
    name = excluded.name,
    version = excluded.version,
    address = excluded.address,
    connections = excluded.connections,
    state = excluded.state,
    started_at = excluded.started_at,
    leased_until = excluded.leased_until,
    takes_part = false,
    signer = excluded.signer,
    journal_writer = excluded.journal_writer,
    ids_until = greatest(s.ids_until, $7::bigint) + $8::bigint
-- The check is repeated, because another server may have taken the slot first.
WHERE s.leased_until < now() - make_interval(secs => $9)
RETURNING s.slot, s.ids_until - $8::bigint, s.ids_until
