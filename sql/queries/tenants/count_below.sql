-- Counts the rows of list_below.sql.
SELECT count(*)
FROM tenants t
WHERE ($1 = 'management' OR t.parent = $1)
