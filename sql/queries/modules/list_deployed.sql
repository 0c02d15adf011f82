-- Returns the deployed modules of a tenant with their texts, the oldest first. Each row has the generation of all of
-- them, as in survey.sql, so the generation belongs to exactly the modules that were read.
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
