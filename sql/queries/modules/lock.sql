-- One change of the modules of a tenant at a time, over all server processes: so that two texts that go with the others each
-- also go with each other. Ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('modules/' || $1, 0))
