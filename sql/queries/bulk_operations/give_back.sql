-- Ends the leases of a process that stops, and prevents further steps of it.
UPDATE bulk_operations b
SET
    fence = b.fence + 1,
    leased_until = '-infinity'
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS own (tenant, id, fence)
WHERE b.tenant = own.tenant
    AND b.id = own.id
    AND b.fence = own.fence
