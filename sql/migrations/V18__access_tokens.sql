-- The access-token service (document 1, Token request; T-01 to T-08).

-- Who may ask for tokens: a consumer key and a consumer secret, and the user of the tenant that its tokens speak for.
CREATE TABLE token_clients (
    tenant      text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The consumer key. Lists go by it, the same whatever the locale of the database.
    id          text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    user_name   text NOT NULL,
    scope       text[] NOT NULL,
    secret_hash text NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE
);

CREATE UNIQUE INDEX token_clients_by_id ON token_clients (id);
CREATE INDEX token_clients_by_user ON token_clients (tenant, user_name);

CREATE TABLE access_tokens (
    tenant     text NOT NULL,
    -- SHA-256 of the token (T-08). A token is presented without its tenant, so the hash alone is the key.
    hash       bytea NOT NULL,
    client     text COLLATE "C" NOT NULL,
    scope      text[] NOT NULL,
    issued_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (hash),
    FOREIGN KEY (tenant, client) REFERENCES token_clients (tenant, id) ON DELETE CASCADE
);

CREATE INDEX access_tokens_by_client ON access_tokens (tenant, client);
CREATE INDEX access_tokens_by_end ON access_tokens (expires_at);
