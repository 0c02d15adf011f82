-- Renews the leases of a process on bulk operations, except for those that were taken over or changed. A step in
-- progress renews its lease itself.
UPDATE bulk_operations b
SET leased_until = now() + make_interval(secs => $4)
FROM (
    SELECT b.tenant, b.id
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS own (tenant, id, fence)
    JOIN bulk_operations b ON b.tenant = own.tenant AND b.id = own.id AND b.fence = own.fence
    FOR UPDATE OF b SKIP LOCKED
) own
WHERE b.tenant = own.tenant
    AND b.id = own.id
