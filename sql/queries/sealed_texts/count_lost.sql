-- Counts what nobody can open or verify without the secret key. Hashes under the key begin with $2.
SELECT
    (SELECT count(*) FROM options WHERE starts_with(key, $1)),
    (SELECT count(*) FROM new_device_requests WHERE sealed_password IS NOT NULL),
    (SELECT count(*) FROM applications),
    (SELECT count(*) FROM applications WHERE sealed_resources_password IS NOT NULL),
    (SELECT count(*) FROM users WHERE application IS NOT NULL),
    (SELECT count(*) FROM users WHERE application IS NULL AND starts_with(password_hash, $2)
        AND starts_with(name, 'device_')),
    (SELECT count(*) FROM users WHERE application IS NULL AND starts_with(password_hash, $2)
        AND NOT starts_with(name, 'device_')),
    (SELECT count(*) FROM token_clients),
    (SELECT count(*) FROM second_factors WHERE active),
    (SELECT count(*) FROM trusted_certificates WHERE sealed_key IS NOT NULL)
