-- Applications, the tenants that subscribe to them, and the users they act as (document 2, Applications; document 3,
-- Microservices; W-01 to W-16, Z-03).

CREATE TABLE applications (
    -- The tenant that owns it. Others may see it too, so its number is one of the whole deployment.
    tenant                    text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id                        bigint NOT NULL,
    name                      text NOT NULL,
    type                      text NOT NULL CHECK (type IN ('EXTERNAL', 'HOSTED', 'MICROSERVICE', 'APAMA_CEP_RULE')),
    availability              text NOT NULL CHECK (availability IN ('MARKET', 'PRIVATE')),
    -- The key is looked up by its keyed hash and shown to its owner; in clear it stands nowhere.
    key_hash                  text NOT NULL,
    sealed_key                text NOT NULL,
    -- Of a microservice the one it is served under: that of the manifest, else its name.
    context_path              text,
    resources_url             text,
    resources_username        text,
    sealed_resources_password text,
    external_url              text,
    required_roles            text[] NOT NULL,
    roles                     text[] NOT NULL,
    manifest                  json,
    -- The binary that is served, or loaded; older ones are deleted.
    active_version            bigint,
    -- Where the operator says that the microservice runs.
    route                     text,
    created_at                timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

CREATE UNIQUE INDEX applications_by_id ON applications (id);
CREATE UNIQUE INDEX applications_by_key ON applications (key_hash);
CREATE UNIQUE INDEX applications_by_context_path ON applications (context_path);
CREATE INDEX applications_by_name ON applications (name, id);
-- What every tenant sees, by each way it is asked for.
CREATE INDEX applications_of_market ON applications (id) WHERE availability = 'MARKET';
CREATE INDEX applications_of_market_by_name ON applications (name, id) WHERE availability = 'MARKET';
CREATE INDEX applications_of_market_by_owner ON applications (tenant, id) WHERE availability = 'MARKET';

-- Those that run somewhere: every server looks after them.
CREATE INDEX applications_with_route ON applications (id) WHERE type = 'MICROSERVICE' AND route IS NOT NULL;

CREATE TABLE subscriptions (
    tenant      text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    application bigint NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, application)
);

-- Of some roles those that there are in a tenant: the platform's, and what microservices define to which it subscribes (U-03).
CREATE FUNCTION roles_there_are(of_tenant text, roles text[], of_platform text[]) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT held.role
        FROM unnest(roles) WITH ORDINALITY AS held (role, place)
        WHERE held.role = ANY(of_platform)
            OR EXISTS (
                SELECT 1
                FROM subscriptions s
                JOIN applications a ON a.id = s.application
                WHERE s.tenant = of_tenant
                    AND a.type = 'MICROSERVICE'
                    AND held.role = ANY(a.roles))
        ORDER BY held.place);

CREATE INDEX subscriptions_by_application ON subscriptions (application, tenant);

-- A user that a microservice acts as: in its owner's tenant to learn who subscribes (W-10), in each subscriber's to work
-- (W-11). It goes with the application.
ALTER TABLE users
    ADD COLUMN application bigint REFERENCES applications (id) ON DELETE CASCADE,
    ADD COLUMN duty text CHECK (duty IN ('BOOTSTRAP', 'SERVICE')),
    -- The password, for the microservice asks for it at each start. Ciphertext.
    ADD COLUMN sealed_password text,
    ADD CHECK ((application IS NULL) = (duty IS NULL)),
    ADD CHECK ((application IS NULL) = (sealed_password IS NULL));

-- In the order in which a microservice is told of its subscribers.
CREATE UNIQUE INDEX users_by_application ON users (application, duty, tenant COLLATE "C") WHERE application IS NOT NULL;

-- Users of microservices are not listed among people (W-11).
DROP INDEX users_people;
CREATE INDEX users_people ON users (tenant, name COLLATE "C")
    WHERE NOT starts_with(name, 'device_') AND application IS NULL;

-- Who may hold roles that microservices define, so that these can be taken away (U-03): not whoever has nothing but the two
-- roles of every new user, as devices do.
CREATE INDEX users_with_roles ON users (tenant)
    WHERE NOT roles <@ '{ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}'::text[];

-- What was uploaded for an application is one binary: the files of the archive one behind the other.
ALTER TABLE binaries
    ADD COLUMN application bigint REFERENCES applications (id) ON DELETE CASCADE,
    ADD CHECK (application IS NULL OR (object IS NULL AND event IS NULL));

CREATE UNIQUE INDEX binaries_of_application ON binaries (application) WHERE application IS NOT NULL;
DROP INDEX binaries_unfinished;
CREATE INDEX binaries_unfinished ON binaries (created_at)
    WHERE object IS NULL AND event IS NULL AND application IS NULL;

-- Where each file of an archive is in its binary.
CREATE TABLE application_files (
    tenant       text NOT NULL,
    binary_id    bigint NOT NULL,
    path         text NOT NULL,
    content_type text NOT NULL,
    -- Of its bytes: the entity tag.
    sha256       bytea NOT NULL,
    start        bigint NOT NULL,
    length       bigint NOT NULL,
    PRIMARY KEY (tenant, binary_id, path),
    FOREIGN KEY (tenant, binary_id) REFERENCES binaries (tenant, id) ON DELETE CASCADE
);
