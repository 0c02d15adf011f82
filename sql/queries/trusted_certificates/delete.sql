-- Deletes an authority, with the certificates that were accepted by it.
DELETE FROM trusted_certificates
WHERE tenant = $1
    AND fingerprint = $2
