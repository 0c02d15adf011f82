-- Begins to read a consumer ($2) of a tenant ($1) for its owner ($3), after the client acknowledged a position ($4, or
-- null), over a connection of the server $5 in the way $6 from the address $7. A session that has moved ($8, otherwise
-- null) does not take the consumer over from another reader. A consumer that has lapsed continues with the next
-- notification and has missed all before it. Returns its channels and its place, what it missed and has not
-- acknowledged, the newest position, the server of the reader before, its filter, and the number of the session. It is
-- one transaction, whose loss would only repeat notifications.
WITH quick AS (
    SELECT set_config('synchronous_commit', 'off', true)
),
found AS (
    SELECT
        consumers.tenant,
        consumers.name,
        consumers.position,
        consumers.position_at,
        consumers.bytes,
        consumers.lapsed_at IS NOT NULL AS has_lapsed,
        consumers.missed_from,
        consumers.missed_to,
        consumers.reader_server,
        consumers.reader_way,
        consumers.reader_address,
        consumers.reader_session,
        CASE
            WHEN $6 <> 'LONG_POLL' THEN coalesce($8::bigint, (random() * 9e15)::bigint)
        END AS session
    FROM quick, consumers
    WHERE consumers.tenant = $1
        AND consumers.name = $2
        AND consumers.owner = $3
        AND ($8::bigint IS NULL OR consumers.reader_server IS NULL OR consumers.reader_session = $8)
    FOR UPDATE OF consumers
),
journal AS (
    SELECT newest, newest_at, bytes
    FROM journals
    WHERE tenant = $1
),
acknowledged AS (
    SELECT journal_notifications.position, journal_notifications.arrived_at, journal_notifications.bytes
    FROM found, journal_notifications
    WHERE journal_notifications.tenant = $1
        AND journal_notifications.position = $4::bigint
        AND journal_notifications.arrived_at >= found.position_at
        AND $4 > found.position
        AND NOT found.has_lapsed
),
continued AS (
    SELECT
        found.*,
        journal.newest,
        CASE WHEN has_lapsed THEN journal.newest ELSE coalesce(acknowledged.position, found.position) END AS at,
        CASE WHEN has_lapsed THEN journal.newest_at ELSE coalesce(acknowledged.arrived_at, found.position_at) END
            AS at_time,
        CASE WHEN has_lapsed THEN journal.bytes ELSE coalesce(acknowledged.bytes, found.bytes) END AS at_bytes,
        -- The gap is reported until the client acknowledges its end.
        CASE
            WHEN has_lapsed THEN coalesce(missed_from, found.position + 1)
            WHEN $4 >= missed_to THEN NULL
            ELSE missed_from
        END AS from_missed,
        CASE
            WHEN has_lapsed THEN journal.newest
            WHEN $4 >= missed_to THEN NULL
            ELSE missed_to
        END AS to_missed
    FROM found
    CROSS JOIN journal
    LEFT JOIN acknowledged ON true
),
-- An idle reader writes nothing.
changed AS (
    SELECT *
    FROM continued
    WHERE has_lapsed
        OR at <> position
        OR to_missed IS DISTINCT FROM missed_to
        OR (reader_server, reader_way, reader_address, reader_session)
            IS DISTINCT FROM ($5::bigint, $6::text, $7::text, session)
),
updated AS (
    UPDATE consumers
    SET position = changed.at,
        position_at = changed.at_time,
        bytes = changed.at_bytes,
        lapsed_at = NULL,
        missed_from = changed.from_missed,
        missed_to = changed.to_missed,
        reader_server = $5,
        reader_way = $6,
        reader_since = CASE
            WHEN (changed.reader_server, changed.reader_way, changed.reader_address, changed.reader_session)
                IS NOT DISTINCT FROM ($5::bigint, $6::text, $7::text, changed.session) THEN consumers.reader_since
            ELSE now()
        END,
        reader_address = $7,
        reader_session = changed.session
    FROM changed
    WHERE consumers.tenant = changed.tenant
        AND consumers.name = changed.name
)
SELECT
    consumers.channels,
    continued.at,
    continued.at_time,
    continued.at_bytes,
    continued.from_missed,
    continued.to_missed,
    continued.newest,
    continued.reader_server,
    consumers.max_bytes,
    consumers.filter,
    continued.session
FROM continued
JOIN consumers ON consumers.tenant = continued.tenant AND consumers.name = continued.name
