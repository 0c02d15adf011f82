-- Which servers hear or write a tenant whose notifications several servers have to agree on (scale-out).

-- The servers that take part. A server whose lease ended counts as dead, and its rows are deleted.
-- Every transaction of a server that `asserts` checks that no other server has to hear of it; one that is alone need not.
-- The `application_name` of its connections ends with the token.
CREATE TABLE publication_servers (
    server bigint PRIMARY KEY,
    token text NOT NULL,
    leased_until timestamptz NOT NULL,
    asserts boolean NOT NULL
);

-- A server that `hears` a tenant has sessions or modules of it; the others only write what somebody else hears.
CREATE TABLE publication_listeners (
    tenant text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    server bigint NOT NULL REFERENCES publication_servers (server) ON DELETE CASCADE,
    hears boolean NOT NULL,
    PRIMARY KEY (tenant, server)
);

CREATE INDEX publication_listeners_by_server ON publication_listeners (server);

-- Ends the transaction of a batch that another server has to hear of.
CREATE FUNCTION refuse_unshared_batch(of_tenant text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RAISE EXCEPTION 'tenant % is heard or written at another server', of_tenant USING ERRCODE = 'PL001';
END
$$;
