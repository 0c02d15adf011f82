-- Returns an application if the tenant sees it, with its encrypted key for the owner.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route,
    CASE WHEN a.tenant = $1 THEN a.sealed_key END
FROM applications a
WHERE a.id = $2
    AND (
        a.tenant = $1
        OR a.availability = 'MARKET'
        OR EXISTS (SELECT FROM subscriptions s WHERE s.tenant = $1 AND s.application = a.id))
