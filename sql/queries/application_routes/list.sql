-- Returns the microservices of all tenants that have an address, because servers probe them for all tenants.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route
FROM applications a
WHERE a.type = 'MICROSERVICE'
    AND a.route IS NOT NULL
ORDER BY a.id
