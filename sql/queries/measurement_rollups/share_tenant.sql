-- No first mark of a source of the tenant is made until this transaction has ended.
SELECT pg_advisory_xact_lock_shared(hashtext('measurement_rollups'), hashtext($1))
