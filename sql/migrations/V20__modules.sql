-- Event-processing modules (document 2, Event-processing modules; Q-01 to Q-18).

CREATE TABLE modules (
    tenant        text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- Given by the server; rises with creation.
    id            bigint NOT NULL,
    -- From the text, until it is renamed (Q-04).
    name          text NOT NULL,
    deployed      boolean NOT NULL,
    -- How often it was deployed: another deployment remembers nothing of the one before (Q-04).
    deployment    bigint NOT NULL,
    -- Which of what happens in the tenant it reads, a bit for each stream of Q-06.
    inputs        integer NOT NULL,
    last_modified timestamptz NOT NULL,
    -- As uploaded, byte for byte (Q-03).
    text          bytea NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

CREATE INDEX modules_deployed ON modules (tenant) WHERE deployed;

-- Which process runs the modules of a tenant: one at a time. A row for each tenant that has, or had, a module.
CREATE TABLE module_leases (
    tenant       text PRIMARY KEY REFERENCES tenants (id) ON DELETE CASCADE,
    -- The server process that holds it.
    process      bigint NOT NULL,
    -- Counted up by whoever takes over: what modules write has it as its premise.
    fence        bigint NOT NULL,
    leased_until timestamptz NOT NULL,
    -- When something of the tenant was last written through the holder. Another process through which something is written may
    -- take over from a holder that nobody writes through any more.
    fed_at       timestamptz NOT NULL,
    -- Makes a change of the fence the change of a key: it waits for the transactions that hold the lease by a key share, while
    -- the lease may be prolonged under them.
    UNIQUE (tenant, fence)
);

CREATE INDEX module_leases_by_end ON module_leases (leased_until);

-- The premise of a module's write: the process that makes it runs the modules of the tenant, and nobody takes them over before its
-- transaction ends. Refuses as a constraint does, so that a batch goes on without the writes it concerns.
CREATE FUNCTION hold_module_lease(held_tenant text, held_fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM module_leases
    WHERE tenant = held_tenant AND fence = held_fence AND leased_until > clock_timestamp()
    FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the modules of tenant % run elsewhere now', held_tenant
            USING ERRCODE = 'check_violation', CONSTRAINT = 'module_lease_is_held';
    END IF;
END
$$;
