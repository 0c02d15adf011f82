-- Sessions that are not at the server that their clientId names (scale-out). Nothing is lost with these tables that a
-- handshake does not bring back, so they are not written to the log.

-- Which server process holds a session that has moved.
CREATE UNLOGGED TABLE moved_sessions (
    client text PRIMARY KEY,
    holder bigint NOT NULL
);

-- The sessions of the last server, from its stop to the next start.
CREATE UNLOGGED TABLE stored_sessions (
    client text PRIMARY KEY,
    tenant text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    state text NOT NULL,
    expires_at timestamptz NOT NULL
);
