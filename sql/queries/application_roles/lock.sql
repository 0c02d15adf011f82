-- Serializes the withdrawal of roles. Without the lock, two microservices that leave a tenant concurrently could each
-- leave a role in place because the other one defines it.
SELECT pg_advisory_xact_lock(hashtext('roles of microservices'))
