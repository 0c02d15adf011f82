-- Deletes what came for sources while they were being deleted; they are locked now.
DELETE FROM measurements
WHERE tenant = $1
    AND source = ANY($2)
