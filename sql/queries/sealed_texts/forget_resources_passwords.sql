-- Drops the passwords of external resources, which nobody can open without the secret key.
UPDATE applications
SET sealed_resources_password = NULL
WHERE sealed_resources_password IS NOT NULL
