-- Returns how many consumers a tenant ($1) has.
SELECT count(*) FROM consumers WHERE tenant = $1
