-- Returns the applications with this id or this context path, at most one each.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route
FROM applications a
WHERE a.id = $1
    OR a.context_path = $2
FOR UPDATE
