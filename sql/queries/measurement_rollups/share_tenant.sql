-- Prevents the insertion of the first mark of a source of the tenant until the transaction ends.
SELECT pg_advisory_xact_lock_shared(hashtext('measurement_rollups'), hashtext($1))
