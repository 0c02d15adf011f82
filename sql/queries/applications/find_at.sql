-- Returns the application at a context path, if the tenant sees it, and whether the tenant may use it.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route,
    a.tenant = $1 OR s.tenant IS NOT NULL
FROM applications a
LEFT JOIN subscriptions s ON s.application = a.id AND s.tenant = $1
WHERE a.context_path = $2
    AND (a.tenant = $1 OR s.tenant IS NOT NULL OR a.availability = 'MARKET')
