-- Sends each message ($3) to the server that holds the session of the client ($1): where it has moved to, or else the
-- server whose number ends with the one in its clientId ($2); and returns which of these it was. Nothing is sent to this
-- server ($4). No row: the server is gone. One that renews its lease late is asked all the same, until its lease ended $5 seconds ago; but not repeatedly ($6)
-- when it has no connection to the database, because then its process has ended.
WITH connected AS (
    SELECT right(application_name, 16) AS token FROM pg_stat_activity WHERE datname = current_database()
)
SELECT
    asked.place,
    holder.incarnation,
    moved.holder IS NOT NULL,
    CASE
        WHEN holder.incarnation <> $4 THEN pg_notify('platform_server_' || holder.incarnation, asked.payload)
    END
FROM unnest($1::text[], $2::bigint[], $3::text[], $6::boolean[]) WITH ORDINALITY
    AS asked (client, birth, payload, is_repeated, place)
LEFT JOIN moved_sessions AS moved ON moved.client = asked.client
JOIN servers AS holder
    ON holder.leased_until > now() - make_interval(secs => $5)
    AND CASE
        WHEN moved.holder IS NULL THEN (holder.incarnation & 16777215) = asked.birth
        ELSE holder.incarnation = moved.holder
    END
LEFT JOIN publication_servers AS peer ON peer.server = holder.incarnation
WHERE NOT asked.is_repeated OR peer.token IS NULL OR peer.token IN (SELECT token FROM connected)
