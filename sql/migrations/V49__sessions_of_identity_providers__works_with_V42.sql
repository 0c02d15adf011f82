-- The log-in at an identity provider for which a token was issued (C-26): issuer, person, and session there. A log-out at
-- the provider revokes the token (C-35). Servers of earlier versions issue tokens without them.
ALTER TABLE user_tokens ADD COLUMN issuer text;
ALTER TABLE user_tokens ADD COLUMN subject text;
ALTER TABLE user_tokens ADD COLUMN provider_session text;

CREATE INDEX user_tokens_by_subject ON user_tokens (tenant, subject) WHERE subject IS NOT NULL;
CREATE INDEX user_tokens_by_provider_session ON user_tokens (tenant, provider_session)
    WHERE provider_session IS NOT NULL;

-- Tokens of identity providers that take effect once (C-34, C-35), until they expire.
CREATE TABLE spent_tokens (
    tenant     text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    hash       bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, hash)
);

CREATE INDEX spent_tokens_by_end ON spent_tokens (expires_at);
