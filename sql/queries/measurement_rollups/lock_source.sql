-- Locks the source before its mark, in the same order as a deletion of the source.
SELECT FROM managed_objects
WHERE tenant = $1
    AND id = $2
FOR KEY SHARE
