-- Says that a process no longer runs the modules of these tenants, and keeps it from further writes.
UPDATE module_leases l
SET
    fence = l.fence + 1,
    leased_until = '-infinity'
FROM unnest($1::text[], $2::bigint[]) AS own (tenant, fence)
WHERE l.tenant = own.tenant
    AND l.fence = own.fence
