-- Makes requests, each id once. Nothing for an id that is taken, in whatever tenant (N-07). One whose time to collect its credentials is over is gone (N-08).
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
    credentials_until = NULL
WHERE r.credentials_until <= now()
RETURNING r.id, r.status, r.owner, r.created_at, r.group_id, r.number
