-- Serializes changes of links and deletions in a tenant, over all server processes. Without the lock, two valid changes
-- could close a cycle together, and two could deadlock. The lock ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended('links/' || $1, 0))
