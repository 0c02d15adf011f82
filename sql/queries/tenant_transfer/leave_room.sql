-- Leaves room in the journal of a tenant ($1) for the positions that were used after it was exported, as leave_room.sql
-- of journals does after a restore.
WITH before AS (
    SELECT newest, newest_at FROM journals WHERE tenant = $1
), journal AS (
    UPDATE journals SET newest = newest + 1000000000 WHERE tenant = $1
)
UPDATE consumers
SET missed_from = coalesce(consumers.missed_from, consumers.position + 1),
    missed_to = consumers.position + 1000000000,
    position = consumers.position + 1000000000,
    position_at = before.newest_at
FROM before
WHERE consumers.tenant = $1
    AND consumers.position = before.newest
