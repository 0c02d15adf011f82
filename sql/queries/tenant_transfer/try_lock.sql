-- Locks a tenant ($1) for the command that moves it, until its connection ends, unless another one does.
SELECT pg_try_advisory_lock(hashtext('tenant_move'), hashtext($1))
