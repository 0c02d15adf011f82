-- What runs, of every tenant: which inputs are read, and a number that is another one when something else runs.
SELECT
    m.tenant,
    bit_or(m.inputs),
    hashtextextended(string_agg(m.id || '/' || m.deployment || '/' || m.name, chr(10) ORDER BY m.id), 0)
FROM modules m
WHERE m.deployed
GROUP BY m.tenant
