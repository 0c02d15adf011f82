-- Activates a version. Properties that the manifest does not contain stay unchanged (W-03); a hosted application keeps
-- its context path.
UPDATE applications a
SET
    active_version = $3,
    manifest = $4,
    context_path = coalesce($5, a.context_path),
    required_roles = coalesce($6, a.required_roles),
    roles = coalesce($7, a.roles)
WHERE a.tenant = $1
    AND a.id = $2
RETURNING
    a.id, a.tenant, a.name, a.type, a.availability, a.context_path, a.resources_url, a.resources_username,
    a.external_url,
    a.required_roles, a.roles, a.manifest, a.active_version, a.route
