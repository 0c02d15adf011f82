-- Takes the measurement when it is due, or when the server that took it does not continue.
UPDATE usage_measurement
SET
    leased_until = now() + make_interval(secs => $1),
    fence = fence + 1
WHERE due_at <= now()
    AND leased_until < now()
RETURNING fence
