-- The premise of what modules write, of several tenants together. Fails when one of the leases is somebody else's.
SELECT hold_module_lease(premise.tenant, premise.fence)
FROM unnest($1::text[], $2::bigint[]) AS premise (tenant, fence)
-- Always in one order, as all locks.
ORDER BY premise.tenant
