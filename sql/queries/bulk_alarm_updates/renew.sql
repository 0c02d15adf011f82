-- Renews the leases of a process on bulk updates, except for those that were taken over.
UPDATE bulk_alarm_updates b
SET leased_until = now() + make_interval(secs => $4)
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS own (tenant, id, fence)
WHERE b.tenant = own.tenant
    AND b.id = own.id
    AND b.fence = own.fence
