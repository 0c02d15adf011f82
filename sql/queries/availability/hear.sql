-- Stores the time of the last message of devices. A late report does not replace a newer time. Returns the watched
-- devices, and whether an unavailability alarm has to be cleared.
UPDATE availability v
SET last_message = greatest(v.last_message, now() - make_interval(secs => heard.ago))
FROM unnest($1::text[], $2::bigint[], $3::float8[]) AS heard (tenant, device, ago)
WHERE v.tenant = heard.tenant
    AND v.device = heard.device
RETURNING v.tenant, v.device, v.response_interval, coalesce(v.last_message > v.silent_since, false)
