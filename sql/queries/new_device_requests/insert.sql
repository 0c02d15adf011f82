-- Inserts requests; each id occurs once. Returns no row for an id that has a request in any tenant (N-07). A request
-- whose credentials can no longer be collected is replaced (N-08).
INSERT INTO new_device_requests AS r (tenant, id, status, owner, created_at, group_id)
SELECT $1, given.id, 'WAITING_FOR_CONNECTION', $3, now(), given.group_id
FROM unnest($2::text[], $4::bigint[]) WITH ORDINALITY AS given (id, group_id, place)
ORDER BY given.place
ON CONFLICT (id) DO UPDATE
SET
    tenant = excluded.tenant,
    number = DEFAULT,
    status = excluded.status,
    owner = excluded.owner,
    created_at = excluded.created_at,
    group_id = excluded.group_id,
    sealed_password = NULL,
    enrollment_hash = NULL,
    enrolled_key = NULL,
    enrolled_until = NULL,
    credentials_until = NULL
WHERE r.credentials_until <= now()
    OR r.enrolled_until <= now()
RETURNING r.id, r.status, r.owner, r.created_at, r.group_id, r.number
