-- Fails while measurements of the tenant are being deleted, because that deletion has looked for marks already.
SELECT pg_try_advisory_xact_lock(hashtext('measurement_rollups'), hashtext($1))
