-- Returns an application that the tenant owns and locks it until the transaction ends.
SELECT
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route, a.sealed_key
FROM applications a
WHERE a.tenant = $1
    AND a.id = $2
FOR UPDATE
