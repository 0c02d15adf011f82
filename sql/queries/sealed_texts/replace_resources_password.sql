-- Replaces the password of the external resources of an application.
UPDATE applications
SET sealed_resources_password = $2
WHERE id = $1::text::bigint
