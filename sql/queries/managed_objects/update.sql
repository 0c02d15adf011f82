-- Changes only what a PUT sent; a null type or name removes it.
UPDATE managed_objects o
SET
    type = CASE WHEN change.sets_type THEN change.type ELSE o.type END,
    name = CASE WHEN change.sets_name THEN change.name ELSE o.name END,
    owner = coalesce(change.owner, o.owner),
    fragments = (o.fragments || change.fragments::jsonb)
        - ARRAY(SELECT jsonb_array_elements_text(change.removed::jsonb)),
    updated_at = change.updated_at
FROM unnest(
    $1::text[], $2::bigint[], $3::boolean[], $4::text[], $5::boolean[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::timestamptz[])
    AS change (
        tenant, id, sets_type, type, sets_name, name, owner, fragments, removed, updated_at)
WHERE o.tenant = change.tenant
    AND o.id = change.id
RETURNING o.id, o.type, o.name, o.owner, o.created_at, o.updated_at, o.fragments
