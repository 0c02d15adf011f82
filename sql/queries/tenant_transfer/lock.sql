-- Locks a tenant ($1) at the target of a move until the end of the transaction.
SELECT pg_advisory_xact_lock(hashtext('tenant_move'), hashtext($1))
