-- What tenants use at each server, for limits that count at all of them (Z-20). Servers write it every second, as long as
-- there are several, and write it again after a crash.
CREATE UNLOGGED TABLE tenant_counts (
    tenant text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    server bigint NOT NULL,
    held_polls bigint NOT NULL,
    web_sockets bigint NOT NULL,
    sessions bigint NOT NULL,
    PRIMARY KEY (tenant, server)
);
