-- Deletes some of the keys that are older than $1 seconds. Other servers delete others meanwhile.
DELETE FROM idempotency_keys
WHERE ctid = ANY(ARRAY(
    SELECT old.ctid
    FROM idempotency_keys old
    WHERE old.created_at < now() - make_interval(secs => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED))
