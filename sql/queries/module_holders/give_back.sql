-- Ends the leases of a process on the modules of these tenants, prevents further writes of it, and notifies the other
-- processes (on channel $3).
WITH given_back AS (
    UPDATE module_leases l
    SET
        fence = l.fence + 1,
        leased_until = '-infinity'
    FROM unnest($1::text[], $2::bigint[]) AS own (tenant, fence)
    WHERE l.tenant = own.tenant
        AND l.fence = own.fence
    RETURNING l.tenant
)
SELECT count(pg_notify($3, tenant || '/+modules')) FROM given_back
