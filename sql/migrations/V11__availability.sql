-- Whether devices that must report are heard: one row per managed object that asks for it by
-- `plat_RequiredAvailability.responseInterval` (R-01 to R-06), kept in step by the statements that write managed objects.
CREATE TABLE availability (
    tenant            text NOT NULL,
    device            bigint NOT NULL,
    -- Minutes; not positive: maintenance (R-02).
    response_interval smallint NOT NULL,
    -- When the device was last heard; before its first message, when it began to be watched.
    last_message      timestamptz NOT NULL,
    -- Since when the interval is this long: what was silent by a shorter one is not by hindsight.
    counted_from      timestamptz NOT NULL,
    -- The last message before the silence that an unavailability alarm was raised for; none: it was raised for none.
    silent_since      timestamptz,
    -- When the device counts as silent unless it is heard; never in maintenance.
    due_at            timestamptz GENERATED ALWAYS AS (
        CASE WHEN response_interval > 0 THEN
            (greatest(last_message, counted_from) AT TIME ZONE 'UTC' + make_interval(mins => response_interval))
                AT TIME ZONE 'UTC'
        END) STORED,
    PRIMARY KEY (tenant, device),
    FOREIGN KEY (tenant, device) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

-- A sweep reads what is due and nothing else.
CREATE INDEX availability_due ON availability (due_at, tenant, device) WHERE silent_since IS NULL;
-- Heard again, and the alarm not cleared yet: empty but for moments.
CREATE INDEX availability_heard_again ON availability (tenant, device) WHERE last_message > silent_since;

-- Which device users have a real-time connection, by the server process that holds it: a promise until a time soon, so
-- that a process that died is not believed for long (R-03, R-06).
CREATE TABLE presence (
    tenant          text NOT NULL,
    user_name       text NOT NULL,
    process         bigint NOT NULL,
    connected_until timestamptz NOT NULL,
    PRIMARY KEY (tenant, user_name, process),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE
);

-- Since when some server process listens without a gap: silence before may be the servers' own.
INSERT INTO deployment (name, value) VALUES ('availability watched since', extract(epoch FROM now())::text);

-- What is there already is watched from now on. (A fleet with words of its own is, with the next change of the fragment.)
INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
SELECT
    o.tenant, o.id,
    greatest(-32768, least(32767, ceil((o.fragments #>> '{plat_RequiredAvailability,responseInterval}')::numeric))),
    now(), now()
FROM managed_objects o
WHERE jsonb_typeof(o.fragments #> '{plat_RequiredAvailability,responseInterval}') = 'number';

-- These are the server's from now on (R-01, A-12).
UPDATE managed_objects
SET fragments = fragments - ARRAY['plat_ActiveAlarmsStatus', 'plat_Availability', 'plat_Connection']
WHERE fragments ?| ARRAY['plat_ActiveAlarmsStatus', 'plat_Availability', 'plat_Connection'];
