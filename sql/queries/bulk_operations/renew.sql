-- Says that a process is still at work on these bulk operations. One that was taken over or changed meanwhile is not its own
-- any more; one that is just making a step says so itself.
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
