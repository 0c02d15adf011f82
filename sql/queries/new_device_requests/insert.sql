-- Nothing when the id is taken, in whatever tenant (N-07). One whose time to collect its credentials is over is gone (N-08).
INSERT INTO new_device_requests AS r (tenant, id, status, owner, created_at, group_id)
VALUES ($1, $2, 'WAITING_FOR_CONNECTION', $3, now(), $4)
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
