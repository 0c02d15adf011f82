-- As many as list_below.sql shows.
SELECT count(*)
FROM tenants t
WHERE ($1 = 'management' OR t.parent = $1)
