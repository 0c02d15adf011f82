//! Rows as servers with earlier schemas wrote them, and the responses that contain them after the upgrade.

use std::ops::RangeInclusive;

/// The id of the device that most rows belong to.
pub(super) const DEVICE: &str = "101";

/// Statements that insert rows, and the requests that return them.
pub(super) struct Rows {
    /// The schemas in which the statements are valid.
    pub(super) versions: RangeInclusive<i32>,
    /// `$password` stands for the hash of the administrator's password.
    pub(super) statements: &'static str,
    /// Path, JSON pointer (empty for the whole text), and the expected JSON value (empty for none).
    pub(super) read: &'static [(&'static str, &'static str, &'static str)],
}

const fn since(
    version: i32,
    statements: &'static str,
    read: &'static [(&'static str, &'static str, &'static str)],
) -> Rows {
    Rows { versions: version..=i32::MAX, statements, read }
}

pub(super) const ROWS: &[Rows] = &[
    since(
        1,
        "INSERT INTO tenants (id, domain, company, status, created_at)
            VALUES ('main', 'main.localhost', 'Acme', 'ACTIVE', '2026-03-01');
        INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at)
            VALUES ('main', 'admin', '$password', true, '{ROLE_ALARM_READ,ROLE_ALARM_ADMIN,ROLE_AUDIT_READ,
                ROLE_APPLICATION_MANAGEMENT_READ,ROLE_APPLICATION_MANAGEMENT_ADMIN,ROLE_BULK_OPERATION_READ,
                ROLE_CEP_MANAGEMENT_READ,ROLE_DEVICE_CONTROL_READ,ROLE_DEVICE_CONTROL_ADMIN,ROLE_EVENT_READ,
                ROLE_IDENTITY_READ,ROLE_INVENTORY_READ,ROLE_INVENTORY_ADMIN,ROLE_MEASUREMENT_READ,
                ROLE_MEASUREMENT_ADMIN,ROLE_OPTION_MANAGEMENT_READ,ROLE_RETENTION_RULE_READ,
                ROLE_USER_MANAGEMENT_READ,ROLE_USER_MANAGEMENT_ADMIN}', '2026-03-01');
        INSERT INTO deployment (name, value) VALUES ('upgraded', 'often');
        -- The server that wrote these rows is number 1.
        SELECT nextval('server_processes');
        INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments) VALUES
            ('main', 101, 'acme_Pump', 'pump', 'admin', '2026-03-01', '2026-03-02',
                '{\"plat_IsDevice\": {}, \"plat_SupportedOperations\": [\"plat_Restart\"], \
                \"com_platform_model_Agent\": {}, \"acme_Color\": \"red\"}'),
            ('main', 102, 'acme_Valve', 'valve', 'admin', '2026-03-01', '2026-03-01', '{\"plat_IsDevice\": {}}');
        INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, first_time,
            first_offset, created_at, fragments) VALUES
            ('main', 201, 101, 'leak', '2026-03-02', 60, 'It drips', 'ACTIVE', 'MAJOR', 2, '2026-03-01', 60, \
            '2026-03-01',
                '{\"acme_Place\": \"roof\"}'),
            ('main', 202, 101, 'leak', '2026-02-02', 0, 'It dripped', 'CLEARED', 'MINOR', 1, '2026-02-01', 0, \
            '2026-02-01', '{}');
        INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, changes, \
        created_at)
            VALUES ('main', 301, 'Alarm', 'Alarm cleared', '2026-02-03', 'It was repaired', '202', 'admin', \
            'information', '[]',
                '2026-02-03')",
        &[
            ("/inventory/managedObjects/101", "/name", "\"pump\""),
            ("/inventory/managedObjects/101", "/acme_Color", "\"red\""),
            ("/inventory/managedObjects?text=red", "/managedObjects/0/id", "\"101\""),
            ("/alarm/alarms/201", "/text", "\"It drips\""),
            ("/alarm/alarms/201", "/acme_Place", "\"roof\""),
            ("/alarm/alarms/201", "/time", "\"2026-03-02T01:00:00.000+01:00\""),
            ("/alarm/alarms/count?resolved=true", "", "1"),
            ("/audit/auditRecords/301", "/text", "\"It was repaired\""),
        ],
    ),
    Rows {
        versions: 1..=10,
        // Before V11, devices sent these fragments; since then the server maintains them.
        statements: "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) VALUES
            ('main', 103, 'admin', '2026-03-01', '2026-03-01',
                '{\"plat_IsDevice\": {}, \"plat_ActiveAlarmsStatus\": {\"critical\": 77}}'),
            ('main', 104, 'admin', '2026-03-01', '2026-03-01',
                '{\"plat_IsDevice\": {}, \"plat_RequiredAvailability\": {\"responseInterval\": 600}}')",
        read: &[
            ("/inventory/managedObjects/103", "/plat_ActiveAlarmsStatus/critical", "0"),
            ("/inventory/managedObjects/104", "/plat_Availability/status", "\"AVAILABLE\""),
        ],
    },
    since(
        2,
        "INSERT INTO links (tenant, kind, parent, child) VALUES ('main', 'childDevices', 101, 102);
        INSERT INTO external_ids (tenant, type, value, object, created_at)
            VALUES ('main', 'acme_Serial', 'P-1', 101, '2026-03-01');
        INSERT INTO options (tenant, category, key, value) VALUES ('main', 'plant', 'place', 'north');
        INSERT INTO groups (tenant, id, name, roles) VALUES ('main', 5000, 'operators', '{ROLE_ALARM_READ}');
        INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at, first_name)
            VALUES ('main', 'mia', '$password', true, '{}', '2026-03-01', 'Mia');
        INSERT INTO group_members (tenant, group_id, user_name) VALUES ('main', 5000, 'mia')",
        &[
            ("/inventory/managedObjects/101/childDevices/102", "/managedObject/name", "\"valve\""),
            ("/identity/externalIds/acme_Serial/P-1", "/managedObject/id", "\"101\""),
            ("/tenant/options/plant/place", "/value", "\"north\""),
            ("/user/main/users/mia", "/firstName", "\"Mia\""),
            ("/user/main/groupByName/operators", "/roles/references/0/role/id", "\"ROLE_ALARM_READ\""),
            ("/user/main/groups/5000/users", "/references/0/user/id", "\"mia\""),
        ],
    ),
    since(
        4,
        "INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments)
            VALUES ('main', 110, 'text/plain', 'notes.txt', 'admin', '2026-03-01', '2026-03-01', \
            '{\"plat_IsBinary\": \"\"}');
        INSERT INTO binaries (tenant, id, object, name, content_type, length, created_at)
            VALUES ('main', 401, 110, 'notes.txt', 'text/plain', 5, '2026-03-01');
        INSERT INTO binary_chunks (tenant, binary_id, number, bytes) VALUES ('main', 401, 0, 'hello')",
        &[("/inventory/binaries/110", "", "hello")],
    ),
    Rows {
        versions: 6..=7,
        statements: "INSERT INTO measurement_series (tenant, source, fragment, series)
            VALUES ('main', 101, 'plat_Temperature', 'T')",
        read: &[],
    },
    since(
        8,
        "SELECT make_measurement_partition('2026-03-05');
        INSERT INTO measurement_shapes (tenant, id, type, members, fragments, series, definition)
            VALUES ('main', 77, 'acme_Reading', '{plat_Temperature}', '{plat_Temperature}', '{plat_Temperature.T}',
                '{\"type\":\"acme_Reading\",\
                \"fragments\":[{\"name\":\"plat_Temperature\",\"series\":[{\"name\":\"T\",\"unit\":\"C\"}]}]}');
        INSERT INTO source_shapes (tenant, source, shape, first) VALUES ('main', 101, 77, first_id('2026-03-05') + 1);
        INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings)
            VALUES ('main', first_id('2026-03-05') + 1, 101, '2026-03-05 10:00Z', '2026-03-05 11:00', 77, '{21.5}')",
        &[
            ("/measurement/measurements?source=101", "/measurements/0/plat_Temperature/T/value", "21.5"),
            ("/measurement/measurements?source=101", "/measurements/0/time", "\"2026-03-05T11:00:00.000+01:00\""),
            ("/inventory/managedObjects/101/supportedSeries", "/plat_SupportedSeries/0", "\"plat_Temperature.T\""),
        ],
    ),
    since(
        9,
        "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments)
            VALUES ('main', 501, 101, 'acme_Door', '2026-03-03', 0, 'The door opened', '2026-03-03', '{}');
        INSERT INTO binaries (tenant, id, event, name, content_type, length, created_at)
            VALUES ('main', 402, 501, 'door.txt', 'text/plain', 4, '2026-03-03');
        INSERT INTO binary_chunks (tenant, binary_id, number, bytes) VALUES ('main', 402, 0, 'open')",
        &[
            ("/event/events/501", "/text", "\"The door opened\""),
            ("/event/events/501/binaries", "", "open"),
        ],
    ),
    // An interrupted update continues after the upgrade; this one changes nothing, because no alarm matches.
    since(
        10,
        "INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, last_alarm, \
         user_name, base,
            fence, leased_until)
            VALUES ('main', 901, 'CLEARED', '{}', '{}', '{none}', '{}', 202, 'admin', 'http://127.0.0.1', 1, \
            '2026-03-01')",
        &[],
    ),
    since(
        11,
        "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) VALUES
            ('main', 105, 'admin', '2026-03-01', '2026-03-01',
                '{\"plat_IsDevice\": {}, \"plat_RequiredAvailability\": {\"responseInterval\": 600}}');
        INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
            VALUES ('main', 105, 600, now(), now())",
        &[("/inventory/managedObjects/105", "/plat_Availability/status", "\"AVAILABLE\"")],
    ),
    since(
        13,
        "INSERT INTO measurement_rollup_marks (tenant, source, rolled) VALUES ('main', 102, 0);
        INSERT INTO measurement_rollups (tenant, source, shape, hour, zone, first_time, least, greatest)
            VALUES ('main', 102, 77, '2026-03-05 11:00', 60, '2026-03-05 10:00Z', '{21.5}', '{21.5}')",
        &[],
    ),
    since(
        14,
        "INSERT INTO operations (tenant, id, device, status, created_at, fragments)
            VALUES ('main', 601, 101, 'PENDING', '2026-03-04', '{\"plat_Restart\": {}}')",
        &[("/devicecontrol/operations/601", "/status", "\"PENDING\"")],
    ),
    since(
        15,
        "INSERT INTO bulk_operations (tenant, id, group_id, start_at, ramp, prototype, status, creator, base, \
         created_at, total,
            chosen, place, vanished, due_at, fence, leased_until)
            VALUES ('main', 701, 101, '2026-03-04', 1, '{\"plat_Restart\": {}}', 'COMPLETED', 'admin', \
            'http://127.0.0.1',
                '2026-03-04', 1, true, 1, 0, '2026-03-04', 1, '2026-03-04');
        INSERT INTO bulk_operation_targets (tenant, bulk_operation, position, device) VALUES ('main', 701, 1, 101)",
        &[("/devicecontrol/bulkoperations/701", "/status", "\"COMPLETED\"")],
    ),
    since(
        16,
        "INSERT INTO new_device_requests (tenant, id, status, owner, created_at)
            VALUES ('main', 'P-9', 'WAITING_FOR_CONNECTION', 'admin', '2026-03-04');
        INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at)
            VALUES ('main', 'device_P-8', '$password', true, '{}', '2026-03-04');
        INSERT INTO device_placements (tenant, user_name, group_id) VALUES ('main', 'device_P-8', 101)",
        &[("/devicecontrol/newDeviceRequests/P-9", "/status", "\"WAITING_FOR_CONNECTION\"")],
    ),
    since(
        17,
        "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, context_path, \
         required_roles, roles,
            created_at)
            VALUES ('main', 801, 'shop', 'HOSTED', 'PRIVATE', 'hash', 'sealed', 'shop', '{}', '{}', '2026-03-04');
        INSERT INTO subscriptions (tenant, application, created_at) VALUES ('main', 801, '2026-03-04');
        INSERT INTO binaries (tenant, id, application, name, content_type, length, created_at)
            VALUES ('main', 403, 801, 'shop.zip', 'application/zip', 4, '2026-03-04');
        INSERT INTO binary_chunks (tenant, binary_id, number, bytes) VALUES ('main', 403, 0, 'page');
        INSERT INTO application_files (tenant, binary_id, path, content_type, sha256, start, length)
            VALUES ('main', 403, 'index.html', 'text/html', sha256('page'), 0, 4);
        UPDATE applications SET active_version = 403 WHERE id = 801",
        &[
            ("/application/applications/801", "/name", "\"shop\""),
            ("/apps/shop/index.html", "", "page"),
        ],
    ),
    since(
        18,
        "INSERT INTO token_clients (tenant, id, name, user_name, scope, secret_hash, created_at)
            VALUES ('main', 'client1', 'reports', 'mia', '{READ}', 'hash', '2026-03-04');
        INSERT INTO access_tokens (tenant, hash, client, scope, issued_at, expires_at)
            VALUES ('main', 'hash', 'client1', '{READ}', '2026-03-04', '2099-03-04')",
        &[("/application/tokenClients/client1", "/name", "\"reports\"")],
    ),
    since(
        19,
        "INSERT INTO limit_accounts (id) VALUES ('acme');
        INSERT INTO limit_tokens (hash, account, expires_at) VALUES ('hash', 'acme', '2099-03-04')",
        &[],
    ),
    since(
        20,
        "INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text)
            VALUES ('main', 951, 'hot', false, 1, 0, '2026-03-04', 'select * from AlarmCreated;');
        INSERT INTO module_leases (tenant, process, fence, leased_until, fed_at)
            VALUES ('main', 1, 1, '2026-03-04', '2026-03-04')",
        &[("/cep/modules/951", "/name", "\"hot\"")],
    ),
    since(
        27,
        "INSERT INTO servers (slot, incarnation, name, version, address, state, started_at, leased_until, ids_until,
            connections)
            VALUES (3, 1, 'killed', '0.1.0', 'http://10.0.0.1:8080', 'UP', '2026-03-04', '2026-03-04', 0, 32)",
        &[],
    ),
    Rows {
        versions: 28..=30,
        statements: "INSERT INTO publication_servers (server, token, leased_until, asserts) VALUES (1, 't', \
            '2026-03-04', true);
            INSERT INTO publication_listeners (tenant, server, hears) VALUES ('main', 1, true)",
        read: &[],
    },
    since(
        30,
        "INSERT INTO stored_sessions (client, tenant, state, expires_at) VALUES ('c', 'main', '{}', '2026-03-04')",
        &[],
    ),
    since(
        31,
        "INSERT INTO publication_listeners (tenant, server, hears) VALUES ('main', 1, true)",
        &[],
    ),
    since(
        32,
        "INSERT INTO retention_rules (tenant, id, data_type, maximum_age) VALUES ('main', 971, 'EVENT', 36500);
        INSERT INTO retention_runs (tenant, due_at, ended_at, leased_until)
            VALUES ('main', '2026-03-04', '2026-03-04', '2026-03-04')",
        &[("/retention/retentions/971", "/maximumAge", "36500")],
    ),
    since(
        33,
        "INSERT INTO user_sessions (tenant, user_name, server, clients) VALUES ('main', 'mia', 1, '{c}')",
        &[],
    ),
    since(
        34,
        "INSERT INTO tenant_usage (tenant, measured_at, devices, devices_with_children, stored_bytes, tables)
            VALUES ('main', '2026-03-04', 2, 2, 8192, '{}');
        INSERT INTO table_sizes (name, rows, bytes, sampled) VALUES ('alarms', 2, 8192, 1);
        INSERT INTO database_sizes (measured_at, bytes) VALUES ('2026-03-04', 10000000);
        INSERT INTO tenant_statistics (tenant, day, requests) VALUES ('main', '2026-03-04', 7)",
        &[],
    ),
    since(
        35,
        "INSERT INTO statistics_batches (server, batch) VALUES (1, 1);
        INSERT INTO tenant_activity (tenant, server, measured_at, sessions, polls, sockets, queued, requests, writes,
            deliveries)
            VALUES ('main', 1, '2026-03-04', 1, 1, 0, 0, 1, 1, 1)",
        &[],
    ),
    since(
        36,
        "INSERT INTO tenant_limits (tenant, name, value) VALUES ('main', 'devices', 1000)",
        &[],
    ),
    since(
        37,
        "INSERT INTO tenant_counts (tenant, server, held_polls, web_sockets, sessions) VALUES ('main', 1, 1, 0, 1)",
        &[],
    ),
    since(
        40,
        "INSERT INTO user_tokens (tenant, id, user_name, hash, name, scope, created_at, expires_at, ends_at)
            VALUES ('main', 'token1', 'mia', 'hash', 'shell', '{READ}', '2026-03-04', '2099-03-04', '2099-03-04')",
        &[],
    ),
    since(
        41,
        "INSERT INTO journals (tenant, is_written, first, newest, bytes, newest_at)
            VALUES ('main', true, 1, 2, 100, now());
        INSERT INTO journal_notifications (tenant, position, arrived_at, bytes, resource, source, content) VALUES
            ('main', 1, now(), 50, 3, 101, '{\"realtimeAction\":\"DELETE\",\"data\":\"201\"}'),
            ('main', 2, now(), 100, 3, 101, '{\"realtimeAction\":\"DELETE\",\"data\":\"202\"}');
        INSERT INTO consumers
            (tenant, name, owner, channels, created_at, max_age, max_bytes, position, position_at, bytes)
            VALUES ('main', 'billing', 'admin', '{/alarms/*}', '2026-03-04', 604800, 65536, 1, now(), 50)",
        &[
            ("/notification/consumers/billing", "/backlog/notifications", "1"),
            ("/notification/consumers/billing/notifications", "/notifications/0/channel", "\"/alarms/101\""),
            ("/notification/consumers/billing/notifications", "/notifications/0/data/data", "\"202\""),
        ],
    ),
    since(
        43,
        "INSERT INTO traces (tenant, id, device, owner, ends_at)
            VALUES ('main', 4711, 101, 'admin', now() + interval '1 hour')",
        // The user of this test has its roles from before there were traces.
        &[],
    ),
    since(
        45,
        "INSERT INTO idempotency_keys (tenant, user_name, key, request, location, response)
            VALUES ('main', 'mia', 'first', '\\x00', 'http://localhost:8080/event/events/1', '{}')",
        &[],
    ),
    since(
        47,
        "INSERT INTO second_factors (tenant, user_name, sealed_secret, active, last_step, recovery_codes)
            VALUES ('main', 'mia', '$gcm1$', true, 1, '{\\x00}')",
        &[],
    ),
    since(
        48,
        "INSERT INTO trusted_certificates (tenant, fingerprint, name, enabled, registers, id_source, certificate,
            subject, issuer, serial, not_before, not_after, subject_hash, key_hash, proven, issued_days, created_at)
            VALUES ('main', 'aa', 'factory', true, false, 'COMMON_NAME', 'x', 'CN=factory', 'CN=factory', '1', \
            '2026-03-01', '2036-03-01', '\\x00', '\\x00', true, 365, '2026-03-01');
        INSERT INTO authority_keys (key_hash, tenant) VALUES ('\\x00', 'main');
        INSERT INTO device_certificates (tenant, fingerprint, user_name, authority, issuers, serials, subject,
            not_before, not_after, created_at)
            VALUES ('main', 'bb', 'mia', 'aa', '{\\x00}', '{2}', 'CN=pump', '2026-03-01', '2036-03-01', '2026-03-01');
        INSERT INTO revoked_certificates (tenant, authority, issuer, serial, revoked_at)
            VALUES ('main', 'aa', '\\x00', '3', '2026-03-01')",
        &[],
    ),
    since(
        49,
        "INSERT INTO spent_tokens (tenant, hash, expires_at)
            VALUES ('main', '\\x00', now() + interval '1 hour')",
        &[],
    ),
];
