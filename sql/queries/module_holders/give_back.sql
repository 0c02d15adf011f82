-- Ends the leases of a process on the modules of these tenants, prevents further writes of it, and notifies the other
-- processes (on channel $3, with the payload $4 of each).
WITH given_back AS (
    UPDATE module_leases l
    SET
        fence = l.fence + 1,
        leased_until = '-infinity'
    FROM unnest($1::text[], $2::bigint[], $4::text[]) AS own (tenant, fence, told)
    WHERE l.tenant = own.tenant
        AND l.fence = own.fence
    RETURNING own.told
)
SELECT count(pg_notify($3, told)) FROM given_back
