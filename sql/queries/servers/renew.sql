-- Renews the lease of a slot and reserves milliseconds for ids, and returns the share of PostgreSQL's queue of
-- notifications that is in use. Returns no row if the lease was taken away. An
-- expired lease is renewed if no other server took the slot.
UPDATE servers
SET
    leased_until = now() + make_interval(secs => $3),
    ids_until = greatest(ids_until, $4),
    connections = $5
WHERE slot = $1
    AND incarnation = $2
    AND leased_until > '-infinity'
RETURNING state, ids_until, pg_notification_queue_usage()
