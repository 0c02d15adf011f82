-- Drops the private keys of certificate authorities, which nobody can open without the secret key. The authorities stay
-- trusted and issue nothing any more.
UPDATE trusted_certificates
SET sealed_key = NULL
WHERE sealed_key IS NOT NULL
