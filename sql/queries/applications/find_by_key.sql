-- The application of a key. Keys are unique in the whole deployment, so no tenant is named (C-05).
SELECT name
FROM applications
WHERE key_hash = $1
