-- Returns, for every tenant with deployed modules, a number that differs when other modules are deployed.
SELECT
    m.tenant,
    hashtextextended(string_agg(m.id || '/' || m.deployment || '/' || m.name, chr(10) ORDER BY m.id), 0)
FROM modules m
WHERE m.deployed
GROUP BY m.tenant
