-- The certificate authorities whose certificates log in the devices of a tenant (C-29). Servers of earlier versions do
-- not accept certificates.
CREATE TABLE trusted_certificates (
    tenant       text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- The SHA-256 of the certificate in hexadecimal digits.
    fingerprint  text NOT NULL,
    -- Rises in the order of creation, by which the collection is sorted.
    number       bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    name         text NOT NULL,
    enabled      boolean NOT NULL,
    -- Whether its certificates register devices that have no user.
    registers    boolean NOT NULL,
    -- The part of a certificate that is the id of its device.
    id_source    text NOT NULL CHECK (id_source IN ('COMMON_NAME', 'SERIAL_NUMBER', 'DNS_NAME', 'URI')),
    -- The certificate in PEM, and facts that it states.
    certificate  text NOT NULL,
    subject      text NOT NULL,
    issuer       text NOT NULL,
    serial       text NOT NULL,
    not_before   timestamptz NOT NULL,
    not_after    timestamptz NOT NULL,
    -- The SHA-256 of the subject, by which certificates that it signed name it, and of the public key.
    subject_hash bytea NOT NULL,
    key_hash     bytea NOT NULL,
    -- Whether the tenant has the private key, and the code that it has to sign as a proof.
    proven       boolean NOT NULL,
    code         text,
    code_until   timestamptz,
    -- The private key of an authority that the platform made. Ciphertext.
    sealed_key   text,
    -- The validity in days of the certificates that the platform issues with it.
    issued_days  integer NOT NULL,
    created_at   timestamptz NOT NULL,
    -- When the alarm about its end was raised (C-33).
    warned_at    timestamptz,
    PRIMARY KEY (tenant, fingerprint)
);

CREATE INDEX trusted_certificates_by_subject ON trusted_certificates (subject_hash) WHERE proven;
CREATE INDEX trusted_certificates_by_number ON trusted_certificates (tenant, number);

-- The tenant that has proven to have a key of an authority. Only one may: the key decides which tenant a device is in.
CREATE TABLE authority_keys (
    key_hash bytea PRIMARY KEY,
    tenant   text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE
);

CREATE INDEX authority_keys_by_tenant ON authority_keys (tenant);

-- Certificates that have logged in a device, or that the platform has issued to one (C-28). They are verified once.
CREATE TABLE device_certificates (
    tenant      text NOT NULL,
    fingerprint text NOT NULL,
    number      bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    user_name   text NOT NULL,
    -- The trusted certificate by which it was accepted.
    authority   text NOT NULL,
    -- The SHA-256 of the issuers' names and the serial numbers of the certificate and of those between it and the
    -- authority: a revocation of any of them revokes it.
    issuers     bytea[] NOT NULL,
    serials     text[] NOT NULL,
    subject     text NOT NULL,
    -- The time in which all of them are valid.
    not_before  timestamptz NOT NULL,
    not_after   timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    -- When the alarm about its end was raised (C-33).
    warned_at   timestamptz,
    PRIMARY KEY (tenant, fingerprint),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE,
    FOREIGN KEY (tenant, authority) REFERENCES trusted_certificates (tenant, fingerprint) ON DELETE CASCADE
);

CREATE INDEX device_certificates_by_fingerprint ON device_certificates (fingerprint);
CREATE INDEX device_certificates_by_user ON device_certificates (tenant, user_name, not_after);
CREATE INDEX device_certificates_by_authority ON device_certificates (tenant, authority);
CREATE INDEX device_certificates_by_number ON device_certificates (tenant, number);
CREATE INDEX device_certificates_by_end ON device_certificates (not_after);
CREATE INDEX device_certificates_with_alarm ON device_certificates (tenant, user_name) WHERE warned_at IS NOT NULL;

-- Revoked certificates by the name of their issuer and their serial number (C-31).
CREATE TABLE revoked_certificates (
    tenant     text NOT NULL,
    authority  text NOT NULL,
    issuer     bytea NOT NULL,
    serial     text NOT NULL,
    -- Rises in the order in which the server learned of it, by which the collection is sorted.
    number     bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    revoked_at timestamptz NOT NULL,
    reason     text,
    PRIMARY KEY (tenant, authority, issuer, serial),
    FOREIGN KEY (tenant, authority) REFERENCES trusted_certificates (tenant, fingerprint) ON DELETE CASCADE
);

CREATE INDEX revoked_certificates_by_number ON revoked_certificates (tenant, authority, number);

-- The hash of the one-time password with which a device gets its first certificate, and of the key that it was issued
-- to, and the end of the time in which that key may get it again (C-30).
ALTER TABLE new_device_requests ADD COLUMN enrollment_hash text;
ALTER TABLE new_device_requests ADD COLUMN enrolled_key bytea;
ALTER TABLE new_device_requests ADD COLUMN enrolled_until timestamptz;

CREATE INDEX new_device_requests_by_enrollment_end ON new_device_requests (enrolled_until)
    WHERE enrolled_until IS NOT NULL;
