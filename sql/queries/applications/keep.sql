-- Returns an application and keeps it from being changed or deleted until the transaction ends.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route
FROM applications a
WHERE a.id = $1
FOR SHARE
