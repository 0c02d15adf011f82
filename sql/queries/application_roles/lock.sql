-- Two microservices that leave a tenant at the same moment must not each leave a role to the other: one after the other takes
-- roles away, and the second sees what the first did.
SELECT pg_advisory_xact_lock(hashtext('roles of microservices'))
