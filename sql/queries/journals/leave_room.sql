-- Leaves room in the journal of a tenant ($1), or without one in all journals, for the positions that were used after a
-- backup that is restored, or after an export that is imported: clients may have acknowledged them. Consumers report
-- these positions as missed.
WITH before AS (
    SELECT tenant, newest, newest_at FROM journals WHERE $1::text IS NULL OR tenant = $1
), journal AS (
    UPDATE journals SET newest = newest + 1000000000 WHERE $1::text IS NULL OR tenant = $1
)
-- A consumer with a backlog notices the gap behind it when it reads.
UPDATE consumers
SET missed_from = coalesce(consumers.missed_from, consumers.position + 1),
    missed_to = consumers.position + 1000000000,
    position = consumers.position + 1000000000,
    position_at = before.newest_at
FROM before
WHERE consumers.tenant = before.tenant
    AND consumers.position = before.newest
