-- Whose client a consumer key names; it is presented without its tenant.
SELECT tenant
FROM token_clients
WHERE id = $1
