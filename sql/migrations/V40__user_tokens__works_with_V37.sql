-- Access tokens that users request with their password, for themselves (T-10).

CREATE TABLE user_tokens (
    tenant     text NOT NULL,
    -- The name of the token in the API. Lists go by it, the same whatever the locale of the database.
    id         text COLLATE "C" NOT NULL,
    user_name  text NOT NULL,
    -- SHA-256 of the token (T-08).
    hash       bytea NOT NULL,
    name       text NOT NULL,
    scope      text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- A renewal extends the token up to this moment.
    ends_at    timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE
);

-- A token is presented without its tenant.
CREATE UNIQUE INDEX user_tokens_by_hash ON user_tokens (hash);
CREATE INDEX user_tokens_by_user ON user_tokens (tenant, user_name);
CREATE INDEX user_tokens_by_end ON user_tokens (expires_at);

-- A new password and disabling revoke the tokens of a user, in whatever way the user is changed.
CREATE FUNCTION revoke_user_tokens() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM user_tokens
    WHERE tenant = NEW.tenant
        AND user_name = NEW.name;
    RETURN NULL;
END
$$;

CREATE TRIGGER revoke_user_tokens
    AFTER UPDATE ON users
    FOR EACH ROW
    WHEN (NEW.password_hash IS DISTINCT FROM OLD.password_hash OR NOT NEW.enabled)
    EXECUTE FUNCTION revoke_user_tokens();
