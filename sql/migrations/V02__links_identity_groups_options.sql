-- Links between managed objects, external ids, groups, options; what tenants, users and audit records lacked.

CREATE TABLE links (
    tenant   text NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('childDevices', 'childAssets', 'childAdditions')),
    parent   bigint NOT NULL,
    child    bigint NOT NULL,
    -- Rises with insertion: the order references are shown in.
    position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (tenant, parent, kind, child),
    -- Both ends, so that a link never outlives either object and references stay symmetric.
    FOREIGN KEY (tenant, parent) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, child) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE,
    CHECK (parent <> child)
);

CREATE INDEX links_by_position ON links (tenant, parent, kind, position);
CREATE INDEX links_by_child ON links (tenant, child, kind, parent);

-- An object and everything above it by childDevices and childAssets links. `by_devices`: by childDevices links alone,
-- the way ownership goes (I-06); the other way is that of device permissions (U-12).
CREATE FUNCTION lineage(of_tenant text, of_object bigint) RETURNS TABLE (id bigint, by_devices boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 5 AS $$
    WITH RECURSIVE above (id, by_devices) AS (
        VALUES (of_object, true)
        UNION
        SELECT l.parent, above.by_devices AND l.kind = 'childDevices'
        FROM above
        JOIN links l ON l.tenant = of_tenant AND l.child = above.id
            AND l.kind IN ('childDevices', 'childAssets')
    )
    SELECT above.id, bool_or(above.by_devices) FROM above GROUP BY above.id
$$;

CREATE TABLE external_ids (
    tenant     text NOT NULL,
    type       text NOT NULL,
    value      text NOT NULL,
    object     bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, type, value),
    FOREIGN KEY (tenant, object) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

CREATE INDEX external_ids_by_object ON external_ids (tenant, object, type, value);

ALTER TABLE tenants
    ADD COLUMN contact_name text,
    ADD COLUMN contact_phone text,
    ADD COLUMN admin_name text,
    ADD COLUMN admin_email text,
    ADD COLUMN allow_create_tenants boolean NOT NULL DEFAULT false,
    ADD COLUMN storage_limit_per_device bigint NOT NULL DEFAULT 0,
    ADD COLUMN custom_properties json NOT NULL DEFAULT '{}',
    -- The tenant that created it; none for those of the installation.
    ADD COLUMN parent text;

CREATE INDEX tenants_by_parent ON tenants (parent, id);

ALTER TABLE users
    -- None: an account without a password, that nobody can use yet (U-07).
    ALTER COLUMN password_hash DROP NOT NULL,
    ADD COLUMN first_name text,
    ADD COLUMN last_name text,
    ADD COLUMN display_name text,
    ADD COLUMN phone text,
    ADD COLUMN email text,
    -- The user whose sub-user this is.
    ADD COLUMN owner text,
    ADD COLUMN custom_properties json NOT NULL DEFAULT '{}',
    ADD COLUMN device_permissions json NOT NULL DEFAULT '{}',
    ADD COLUMN password_changed_at timestamptz NOT NULL DEFAULT now();

CREATE INDEX users_by_owner ON users (tenant, owner, name);

CREATE TABLE groups (
    tenant             text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    -- Small numbers per tenant, for they are JSON numbers (C-13).
    id                 bigint NOT NULL,
    name               text NOT NULL,
    description        text,
    roles              text[] NOT NULL,
    device_permissions json NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

CREATE TABLE group_members (
    tenant    text NOT NULL,
    group_id  bigint NOT NULL,
    user_name text NOT NULL,
    PRIMARY KEY (tenant, group_id, user_name),
    FOREIGN KEY (tenant, group_id) REFERENCES groups (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE
);

CREATE INDEX group_members_by_user ON group_members (tenant, user_name, group_id);

CREATE TABLE options (
    tenant   text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    category text NOT NULL,
    key      text NOT NULL,
    -- Ciphertext where the key starts with `credentials.` (Z-05).
    value    text NOT NULL,
    editable boolean NOT NULL DEFAULT true,
    PRIMARY KEY (tenant, category, key)
);

ALTER TABLE audit_records
    ADD COLUMN time_offset smallint NOT NULL DEFAULT 0,
    ADD COLUMN fragments json NOT NULL DEFAULT '{}';

CREATE INDEX audit_records_by_time ON audit_records (tenant, time, id);
CREATE INDEX audit_records_by_type ON audit_records (tenant, type, id);
CREATE INDEX audit_records_by_user ON audit_records (tenant, user_name, id);
CREATE INDEX audit_records_by_application ON audit_records (tenant, application, id);
