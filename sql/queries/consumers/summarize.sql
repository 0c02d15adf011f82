-- Returns how many consumers are active and how many have lapsed, and the largest backlog.
SELECT
    count(*) FILTER (WHERE consumers.lapsed_at IS NULL),
    count(*) FILTER (WHERE consumers.lapsed_at IS NOT NULL),
    coalesce(max(journals.newest - consumers.position), 0)
FROM consumers
JOIN journals ON journals.tenant = consumers.tenant
