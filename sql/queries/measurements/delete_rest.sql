-- Deletes measurements that arrived during the deletion of their sources, which are locked now.
DELETE FROM measurements
WHERE tenant = $1
    AND source = ANY($2)
