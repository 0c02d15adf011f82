-- Begins the measurement if it is due, or takes it over from a server that does not renew its lease.
UPDATE usage_measurement
SET
    leased_until = now() + make_interval(secs => $1),
    fence = fence + 1
WHERE due_at <= now()
    AND leased_until < now()
RETURNING fence
