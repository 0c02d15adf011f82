-- Deletes the options whose values nobody can open without the secret key.
DELETE FROM options
WHERE starts_with(key, $1)
