-- Tenants, users, managed objects, alarms, audit records.
-- The tenant stands first in every key, so that tenants can be spread over databases later.

CREATE TABLE tenants (
    id         text PRIMARY KEY,
    domain     text NOT NULL UNIQUE,
    company    text NOT NULL,
    status     text NOT NULL CHECK (status IN ('ACTIVE', 'SUSPENDED')),
    created_at timestamptz NOT NULL
);

CREATE TABLE users (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name          text NOT NULL,
    password_hash text NOT NULL,
    enabled       boolean NOT NULL,
    roles         text[] NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Facts about this deployment that every server process must agree on.
CREATE TABLE deployment (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- Each server process draws a number at start; it goes into the ids it makes.
CREATE SEQUENCE server_processes;

-- The names of the top-level members, for the filter `fragmentType`.
CREATE FUNCTION fragment_names(fragments jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT jsonb_object_keys(fragments));

CREATE TABLE managed_objects (
    tenant         text NOT NULL,
    id             bigint NOT NULL,
    type           text,
    name           text,
    owner          text NOT NULL,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    fragments      jsonb NOT NULL,
    fragment_names text[] NOT NULL GENERATED ALWAYS AS (fragment_names(fragments)) STORED,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX managed_objects_by_type ON managed_objects (tenant, type, id);
CREATE INDEX managed_objects_by_owner ON managed_objects (tenant, owner, id);
CREATE INDEX managed_objects_by_fragment ON managed_objects USING gin (fragment_names);

CREATE TABLE alarms (
    tenant       text NOT NULL,
    id           bigint NOT NULL,
    source       bigint NOT NULL,
    type         text NOT NULL,
    time         timestamptz NOT NULL,
    time_offset  smallint NOT NULL,
    text         text NOT NULL,
    status       text NOT NULL,
    severity     text NOT NULL,
    count        bigint NOT NULL,
    first_time   timestamptz NOT NULL,
    first_offset smallint NOT NULL,
    created_at   timestamptz NOT NULL,
    -- How often a PUT changed it: the premise of the next change.
    revision     bigint NOT NULL DEFAULT 0,
    fragments    json NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, source) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

-- At most one open alarm per source and type, whatever the number of server processes.
CREATE UNIQUE INDEX alarms_open ON alarms (tenant, source, type) WHERE status <> 'CLEARED';
CREATE INDEX alarms_by_time ON alarms (tenant, time, id);
CREATE INDEX alarms_by_source ON alarms (tenant, source, time, id);

CREATE TABLE audit_records (
    tenant      text NOT NULL,
    id          bigint NOT NULL,
    type        text NOT NULL,
    activity    text NOT NULL,
    time        timestamptz NOT NULL,
    text        text NOT NULL,
    source      text NOT NULL,
    user_name   text NOT NULL,
    application text,
    severity    text NOT NULL,
    changes     json NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX audit_records_by_source ON audit_records (tenant, source, id);
