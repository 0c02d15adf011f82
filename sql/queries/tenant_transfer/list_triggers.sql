-- Returns the triggers of some names ($1), each with its table. Those of partitions belong to their table.
SELECT tgrelid::regclass::text, tgname::text
FROM pg_trigger
WHERE tgname = ANY($1)
    AND tgparentid = 0
ORDER BY 1, 2
