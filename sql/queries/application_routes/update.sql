UPDATE applications
SET route = $3
WHERE tenant = $1
    AND id = $2
