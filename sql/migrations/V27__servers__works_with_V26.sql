-- The servers of this deployment. Each holds a slot by a lease, and its slot is a part of the ids that it generates.
CREATE TABLE servers (
    slot smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    -- The number that the holder drew from the sequence server_processes when it started.
    incarnation bigint NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    address text NOT NULL,
    state text NOT NULL CHECK (state IN ('UP', 'DRAINING', 'STOPPED')),
    started_at timestamptz NOT NULL,
    -- By the clock of the database. '-infinity' when the slot was given back.
    leased_until timestamptz NOT NULL,
    -- The holder generates only ids of earlier milliseconds since 2025 by its own clock, and the next holder only later
    -- ones. So ids are unique whatever the clocks say.
    ids_until bigint NOT NULL,
    -- The most database connections that the holder opens.
    connections integer NOT NULL
);
