-- Which sessions users have at each server, for a limit that counts at all of them (B-23). Only servers with such a limit
-- write it, and write it again after a crash.
CREATE UNLOGGED TABLE user_sessions (
    tenant text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_name text NOT NULL,
    server bigint NOT NULL,
    clients text[] NOT NULL,
    PRIMARY KEY (tenant, user_name, server)
);
