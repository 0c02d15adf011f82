-- Returns whether the standard applications of this deployment were created.
SELECT EXISTS (SELECT FROM deployment WHERE name = 'standard applications')
