-- The limits query (document 1, Limits response; L-01 to L-05). Its accounts are those of a compute service, not tenants.

CREATE TABLE limit_accounts (
    -- A UUID: 32 hexadecimal digits in lower case.
    id       text PRIMARY KEY,
    -- What differs from the defaults of the document, by its name there.
    absolute jsonb NOT NULL DEFAULT '{}',
    rate     json  NOT NULL DEFAULT '[]'
);

CREATE TABLE limit_tokens (
    -- SHA-256 of the token.
    hash       bytea PRIMARY KEY,
    account    text NOT NULL REFERENCES limit_accounts (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);

CREATE INDEX limit_tokens_by_account ON limit_tokens (account);
CREATE INDEX limit_tokens_by_end ON limit_tokens (expires_at);
