-- What servers count for tenants (Z-07), and what tenants do at each server now.

-- The last batch of counts that each server process has added, so that a batch whose commit was not heard of is added
-- once.
CREATE TABLE statistics_batches (
    server   bigint PRIMARY KEY,
    batch    bigint NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);

-- What a tenant did at a server in its last few seconds. Nothing is lost with it that the next seconds do not bring back.
CREATE UNLOGGED TABLE tenant_activity (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    server        bigint NOT NULL,
    measured_at   timestamptz NOT NULL,
    sessions      bigint NOT NULL,
    -- Held long polls, and open WebSockets.
    polls         bigint NOT NULL,
    sockets       bigint NOT NULL,
    -- Notifications that wait in the queues of sessions.
    queued        bigint NOT NULL,
    -- Per second.
    requests      float8 NOT NULL,
    writes        float8 NOT NULL,
    deliveries    float8 NOT NULL,
    PRIMARY KEY (tenant, server)
);

CREATE INDEX tenant_activity_by_server ON tenant_activity (server);

-- Whether an alarm has told the tenant that a run of retention did not end within a day.
ALTER TABLE retention_runs ADD COLUMN told_late boolean NOT NULL DEFAULT false;
