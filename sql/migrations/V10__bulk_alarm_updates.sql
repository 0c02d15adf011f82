-- Bulk updates of alarms that are not finished (A-02), so that another process goes on when the one at work is gone.
CREATE TABLE bulk_alarm_updates (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id            bigint NOT NULL,
    -- What the alarms become, and which are meant; empty lists do not filter.
    status        text NOT NULL,
    statuses      text[] NOT NULL,
    severities    text[] NOT NULL,
    types         text[] NOT NULL,
    source        bigint,
    below         text[] NOT NULL,
    date_from     timestamptz,
    date_to       timestamptz,
    -- The last alarm that was there when it began: those raised later are not meant.
    last_alarm    bigint NOT NULL,
    -- Who asked; recorded with each change.
    user_name     text NOT NULL,
    application   text,
    -- Where links in notifications start.
    base          text NOT NULL,
    -- The place reached, in the order of time and id.
    place_time    timestamptz,
    place_id      bigint,
    -- Rises each time a process takes over; a step of an older holder changes nothing.
    fence         bigint NOT NULL,
    -- Until when the holder is believed to be at work.
    leased_until  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX bulk_alarm_updates_by_lease ON bulk_alarm_updates (leased_until);
