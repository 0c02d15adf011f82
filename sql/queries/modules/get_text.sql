SELECT m.text
FROM modules m
WHERE m.tenant = $1
    AND m.id = $2
