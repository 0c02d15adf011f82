-- Second factors of people (C-27): the secret of an authenticator, and recovery codes. Servers of earlier versions ask
-- for none.
CREATE TABLE second_factors (
    tenant         text NOT NULL,
    user_name      text NOT NULL,
    -- Sealed under the secret key of the deployment.
    sealed_secret  text NOT NULL,
    -- Whether the user has confirmed it with a code.
    active         boolean NOT NULL DEFAULT false,
    -- The newest step of time whose code was accepted: no code counts twice.
    last_step      bigint NOT NULL DEFAULT 0,
    -- SHA-256 of the recovery codes that are left.
    recovery_codes bytea[] NOT NULL DEFAULT '{}',
    -- The codes that were tried since one was accepted, and the time before which no further one is.
    tried          integer NOT NULL DEFAULT 0,
    next_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, user_name),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE
);

-- Whether the members of a group need one.
ALTER TABLE groups ADD COLUMN second_factor_required boolean NOT NULL DEFAULT false;
