-- Serializes changes of the modules of a tenant, over all server processes, so that two new texts are also checked
-- against each other. The lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('modules/' || $1, 0))
