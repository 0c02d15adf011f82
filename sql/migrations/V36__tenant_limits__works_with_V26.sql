-- The limits that were set for tenants (Z-20). A limit without a row has the default of the server.
CREATE TABLE tenant_limits (
    tenant text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name text NOT NULL,
    value bigint NOT NULL CHECK (value >= 0),
    PRIMARY KEY (tenant, name)
);
