-- Sends each request ($3) to the server that holds the session of the client ($1), and returns that server. The
-- holder is the one that the session has moved to, or otherwise the server whose incarnation ends with the bits in
-- the clientId ($2). Nothing is sent to this server ($4). Returns no row if the holder is gone. A server that renews
-- its lease late still gets the request until its lease ended $5 seconds ago, but a repeated request ($6) only if it
-- has a connection to the database; without one its process has ended.
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
