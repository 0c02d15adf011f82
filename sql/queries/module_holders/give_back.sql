-- Ends the leases of a process on the modules of these tenants, and prevents further writes of it.
UPDATE module_leases l
SET
    fence = l.fence + 1,
    leased_until = '-infinity'
FROM unnest($1::text[], $2::bigint[]) AS own (tenant, fence)
WHERE l.tenant = own.tenant
    AND l.fence = own.fence
