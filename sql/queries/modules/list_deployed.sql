-- What runs of a tenant, with the texts, the oldest first. Each row has the number of them all, as the survey of holders has it: who
-- plans them knows it of what was read, not of what somebody saw before.
SELECT
    m.id,
    m.name,
    m.deployed,
    m.last_modified,
    m.switched_off,
    m.warnings,
    m.deployment,
    m.text,
    hashtextextended(string_agg(m.id || '/' || m.deployment || '/' || m.name, chr(10)) OVER everything, 0)
FROM modules m
WHERE m.tenant = $1
    AND m.deployed
WINDOW everything AS (ORDER BY m.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
ORDER BY m.id
