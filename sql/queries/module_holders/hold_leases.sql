-- Ensures for the writes of modules of several tenants that this process holds their leases. It fails when another
-- process holds one of them.
SELECT hold_module_lease(premise.tenant, premise.fence)
FROM unnest($1::text[], $2::bigint[]) AS premise (tenant, fence)
-- Locked in one order, like all locks.
ORDER BY premise.tenant
