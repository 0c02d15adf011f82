-- The source before its mark, in the order in which a deletion of the source takes them.
SELECT FROM managed_objects
WHERE tenant = $1
    AND id = $2
FOR KEY SHARE
