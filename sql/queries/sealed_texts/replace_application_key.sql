-- Replaces the key of an application, and the hash by which it is found if there is a new one.
UPDATE applications
SET sealed_key = $2,
    key_hash = coalesce($3, key_hash)
WHERE id = $1::text::bigint
