SELECT object
FROM external_ids
WHERE tenant = $1
    AND type = $2
    AND value = $3
