-- Renews the lease of the measurement, unless another server has taken it over.
UPDATE usage_measurement
SET leased_until = now() + make_interval(secs => $2)
WHERE fence = $1
