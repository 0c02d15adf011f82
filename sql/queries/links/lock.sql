-- One change of links or deletion at a time in a tenant, over all server processes: so that two changes that are fine
-- each cannot make a ring together, and none waits for another that waits for it. Ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('links/' || $1, 0))
