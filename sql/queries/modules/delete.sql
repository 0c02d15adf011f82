DELETE FROM modules
WHERE tenant = $1
    AND id = $2
