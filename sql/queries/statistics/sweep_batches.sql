-- Deletes the batch numbers of servers that are gone.
DELETE FROM statistics_batches
WHERE added_at < now() - interval '1 day'
    AND server NOT IN (SELECT incarnation FROM servers)
