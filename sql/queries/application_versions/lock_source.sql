-- What there is to copy of an application, which stays as it is meanwhile.
SELECT active_version
FROM applications
WHERE tenant = $1
    AND id = $2
    AND active_version IS NOT NULL
FOR SHARE
