-- Returns all modules of a tenant with their texts, the oldest first.
SELECT m.id, m.name, m.deployed, m.last_modified, m.switched_off, m.warnings, m.deployment, m.text
FROM modules m
WHERE m.tenant = $1
ORDER BY m.id
