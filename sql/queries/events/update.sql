-- Updates the mutable properties of events.
UPDATE events e
SET
    text = wanted.text,
    fragments = wanted.fragments::json,
    revision = e.revision + 1
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
    AS wanted (tenant, id, revision, text, fragments)
WHERE e.tenant = wanted.tenant
    AND e.id = wanted.id
    -- The event was not changed since it was read.
    AND e.revision = wanted.revision
RETURNING e.id
