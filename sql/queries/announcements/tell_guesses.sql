-- Notifies the other servers of failed log-ins. This server receives the notification too and recognizes its own. A
-- server that is alone sends nothing.
SELECT pg_notify($1, payload)
FROM unnest($2::text[]) AS payload
WHERE (SELECT count(*) FROM servers WHERE leased_until > clock_timestamp()) > 1
