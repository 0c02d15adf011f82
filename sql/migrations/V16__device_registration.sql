-- How devices come in: requests to register them, the credentials these lead to, and where a registered device is put
-- (document 2, Registration request, Device credentials; N-01 to N-09).

CREATE TABLE new_device_requests (
    tenant            text NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    id                text NOT NULL,
    -- Rises with creation: what the collection is sorted by.
    number            bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    status            text NOT NULL
        CHECK (status IN ('WAITING_FOR_CONNECTION', 'PENDING_ACCEPTANCE', 'ACCEPTED')),
    owner             text NOT NULL,
    created_at        timestamptz NOT NULL,
    -- The group the device shall be put in; it may have gone since.
    group_id          bigint,
    -- The password the device was answered, so that a lost answer can be given again (N-08). Ciphertext.
    sealed_password   text,
    -- From then on the request counts as gone, whether or not somebody has taken the row away.
    credentials_until timestamptz,
    PRIMARY KEY (tenant, id),
    CHECK ((sealed_password IS NULL) = (credentials_until IS NULL)),
    CHECK (sealed_password IS NULL OR status = 'ACCEPTED')
);

-- A device knows its id and no tenant, so an id is given once in the whole deployment (N-07).
CREATE UNIQUE INDEX new_device_requests_by_id ON new_device_requests (id);
CREATE INDEX new_device_requests_by_number ON new_device_requests (tenant, number);
CREATE INDEX new_device_requests_by_end ON new_device_requests (credentials_until)
    WHERE credentials_until IS NOT NULL;

-- The group that the first device is put in which a user of a device creates (N-04). Goes with the user, and with the group.
CREATE TABLE device_placements (
    tenant    text NOT NULL,
    user_name text NOT NULL,
    group_id  bigint NOT NULL,
    PRIMARY KEY (tenant, user_name),
    FOREIGN KEY (tenant, user_name) REFERENCES users (tenant, name) ON DELETE CASCADE,
    FOREIGN KEY (tenant, group_id) REFERENCES managed_objects (tenant, id) ON DELETE CASCADE
);

CREATE INDEX device_placements_by_group ON device_placements (tenant, group_id);
