-- Stores a secret that is not active yet. It replaces another one that is not active.
INSERT INTO second_factors AS f (tenant, user_name, sealed_secret)
VALUES ($1, $2, $3)
ON CONFLICT (tenant, user_name) DO UPDATE
SET sealed_secret = excluded.sealed_secret
WHERE NOT f.active
