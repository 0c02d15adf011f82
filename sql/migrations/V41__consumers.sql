-- Named consumers of notifications, and the journals from which they read. Servers of earlier versions do not write
-- journals, so the schema does not permit them to start.

-- The journal of a tenant that has or had consumers.
CREATE TABLE journals (
    tenant text PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    -- Whether a consumer exists, so that transactions write the journal.
    is_written boolean NOT NULL,
    -- The first position since the journal is written without a pause.
    first bigint NOT NULL,
    -- The position of the newest notification. Each transaction takes its numbers as its last statement and holds the
    -- row until it ends, so the numbers follow the order of the commits and none is left out.
    newest bigint NOT NULL,
    -- The size of all notifications up to the newest one.
    bytes bigint NOT NULL,
    newest_at timestamptz NOT NULL
)
-- Every commit updates the row.
WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The notifications of journals, in partitions of an hour.
CREATE TABLE journal_notifications (
    tenant text NOT NULL,
    position bigint NOT NULL,
    -- It never decreases with the position.
    arrived_at timestamptz NOT NULL,
    -- The size of all notifications of the tenant up to this one.
    bytes bigint NOT NULL,
    -- The first part of the channel, by its number in the type `Resource`.
    resource smallint NOT NULL,
    -- The object whose channel carries it.
    source bigint NOT NULL,
    -- The member `data` of the message.
    content text NOT NULL,
    PRIMARY KEY (tenant, position, arrived_at)
) PARTITION BY RANGE (arrived_at);

-- Notifications outside of the partitions that are made ahead, because some clock is wrong.
CREATE TABLE journal_notifications_other PARTITION OF journal_notifications DEFAULT;

-- Creates the partition of an hour. Returns whether it did not exist.
CREATE FUNCTION make_journal_partition(of_hour timestamptz) RETURNS boolean
    LANGUAGE plpgsql AS $$
DECLARE
    starts timestamptz := date_trunc('hour', of_hour, 'UTC');
    ends   timestamptz := starts + interval '1 hour';
    name   text := 'journal_notifications_' || to_char(starts AT TIME ZONE 'UTC', 'YYYY_MM_DD_HH24');
BEGIN
    IF to_regclass(name) IS NOT NULL
        OR EXISTS (
            SELECT FROM journal_notifications_other WHERE arrived_at >= starts AND arrived_at < ends) THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'CREATE TABLE %I PARTITION OF journal_notifications FOR VALUES FROM (%L) TO (%L)', name, starts, ends);
    RETURN true;
END
$$;

SELECT make_journal_partition(now()), make_journal_partition(now() + interval '1 hour');

CREATE TABLE consumers (
    tenant text NOT NULL REFERENCES journals (tenant) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    owner text NOT NULL,
    channels text[] NOT NULL,
    created_at timestamptz NOT NULL,
    max_age integer NOT NULL,
    max_bytes bigint NOT NULL,
    -- The last notification that was acknowledged, its time and the size of everything up to it.
    position bigint NOT NULL,
    position_at timestamptz NOT NULL,
    bytes bigint NOT NULL,
    -- When its backlog exceeded a bound; null after it was read again.
    lapsed_at timestamptz,
    -- When a server last began to raise the alarm about that; null after it was raised.
    alarm_begun_at timestamptz,
    -- The notifications that it missed, until the client acknowledges that it knows.
    missed_from bigint,
    missed_to bigint,
    -- The current reader, and the incarnation of the server to which it is connected.
    reader_server bigint,
    reader_way text,
    reader_since timestamptz,
    reader_address text,
    -- A random number of the session or stream that reads; null for long polls.
    reader_session bigint,
    PRIMARY KEY (tenant, name),
    FOREIGN KEY (tenant, owner) REFERENCES users (tenant, name) ON DELETE CASCADE
)
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE INDEX consumers_by_owner ON consumers (tenant, owner);

ALTER TABLE servers
    -- The incarnation of a holder that writes journals. Servers of earlier versions leave the value of the holder
    -- before them, so it counts only while it is that of the holder.
    ADD COLUMN journal_writer bigint;

CREATE OR REPLACE VIEW publication_servers AS
SELECT
    incarnation AS server,
    token,
    leased_until,
    asserts,
    signer IS NOT DISTINCT FROM incarnation AS signs,
    journal_writer IS NOT DISTINCT FROM incarnation AS writes_journals
FROM servers
WHERE takes_part;
