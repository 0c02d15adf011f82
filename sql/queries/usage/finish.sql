-- Ends the measurement, unless another server has taken it over. The next one is due after $2 seconds.
UPDATE usage_measurement
SET
    leased_until = '-infinity',
    due_at = now() + make_interval(secs => $2)
WHERE fence = $1
