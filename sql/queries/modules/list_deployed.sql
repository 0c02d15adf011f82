-- What runs of a tenant, with the texts, the oldest first.
SELECT m.id, m.name, m.deployed, m.last_modified, m.deployment, m.text
FROM modules m
WHERE m.tenant = $1
    AND m.deployed
ORDER BY m.id
