-- Says that a process is still at work on these bulk updates. One that was taken over meanwhile is not its own any more.
UPDATE bulk_alarm_updates b
SET leased_until = now() + make_interval(secs => $4)
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS own (tenant, id, fence)
WHERE b.tenant = own.tenant
    AND b.id = own.id
    AND b.fence = own.fence
