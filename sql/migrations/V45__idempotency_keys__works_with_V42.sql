-- The keys of requests that take effect once (C-24), with the responses that their repetitions receive. Servers of earlier
-- versions ignore the header.

CREATE TABLE idempotency_keys (
    tenant     text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    user_name  text NOT NULL,
    key        text NOT NULL,
    -- The digest of path and body.
    request    bytea NOT NULL,
    location   text,
    response   bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_name, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
