-- Whether this deployment had them made.
SELECT EXISTS (SELECT FROM deployment WHERE name = 'standard applications')
