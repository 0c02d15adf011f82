//! Rows of every table arrive, with their references, secrets and numbers.

use std::sync::Arc;

use super::*;

/// Statements that insert rows of tenant `t7` in every table that belongs to a tenant and does not have some already.
const ROWS: &str = "
    INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, required_roles, roles,
        created_at) VALUES ('t7', 7002, 'own', 'HOSTED', 'PRIVATE', 'own', 'x', '{}', '{}', now());
    INSERT INTO subscriptions VALUES ('t7', 7001, now()), ('t7', 7002, now());
    INSERT INTO users (tenant, name, enabled, roles, created_at) VALUES ('t7', 'mia', true, '{}', now());
    INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments)
        SELECT 't7', n, 'mia', now(), now(), jsonb_build_object('name', E'a\\tb\\nc\\\\d ' || n)
        FROM generate_series(1, 5000) n;
    INSERT INTO links (tenant, kind, parent, child) SELECT 't7', 'childDevices', 1, n FROM generate_series(2, 40) n;
    INSERT INTO external_ids (tenant, type, value, object, created_at) VALUES ('t7', 'serial', 's1', 1, now());
    INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, first_time,
        first_offset, created_at, fragments)
        VALUES ('t7', 1, 1, 'x', '-infinity', 60, E'\\\\N', 'ACTIVE', 'MAJOR', 1, now(), 0, now(), '{}');
    INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, changes, created_at)
        VALUES ('t7', 1, 'x', 'x', now(), '', '1', 'mia', 'warning', '[]', now());
    INSERT INTO token_clients VALUES ('t7', 'client7', 'x', 'mia', '{READ}', 'x', now());
    INSERT INTO access_tokens VALUES ('t7', 'hash', 'client7', '{READ}', now(), now());
    INSERT INTO user_tokens (tenant, id, user_name, hash, name, scope, created_at, expires_at, ends_at)
        VALUES ('t7', '1', 'mia', 'hash', 'x', '{READ}', now(), now(), now());
    INSERT INTO idempotency_keys (tenant, user_name, key, request, response) VALUES ('t7', 'mia', 'k', '\\x00ff', '{}');
    INSERT INTO trusted_certificates (tenant, fingerprint, name, enabled, registers, id_source, certificate, subject,
        issuer, serial, not_before, not_after, subject_hash, key_hash, proven, issued_days, created_at)
        VALUES ('t7', 'f', 'x', true, false, 'COMMON_NAME', 'x', 'x', 'x', '1', now(), now(), 'x', 'x', true, 1, now());
    INSERT INTO authority_keys VALUES ('key7', 't7');
    INSERT INTO device_certificates (tenant, fingerprint, user_name, authority, issuers, serials, subject, not_before,
        not_after, created_at) VALUES ('t7', 'd', 'mia', 'f', '{x}', '{1}', 'x', now(), now(), now());
    INSERT INTO revoked_certificates (tenant, authority, issuer, serial, revoked_at)
        SELECT 't7', 'f', 'x', n::text, now() FROM generate_series(1, 9) n;
    INSERT INTO spent_tokens VALUES ('t7', 'spent', now());
    INSERT INTO journals VALUES ('t7', false, 1, 2, 2, '2026-03-05 07:30Z');
    SELECT make_journal_partition('2026-03-05 07:30Z'), make_measurement_partition('2026-03-05');
    INSERT INTO journal_notifications
        SELECT 't7', n, '2026-03-05 07:30Z', n, 0, 1, 'x' FROM generate_series(1, 2) n;
    INSERT INTO consumers (tenant, name, owner, channels, created_at, max_age, max_bytes, position, position_at, bytes,
        reader_server, reader_way, reader_since, reader_address)
        SELECT 't7', 'consumer' || n, 'mia', '{/alarms/*}', now(), 60, 65536, n, now(), n, 1, 'POLL', now(), 'x'
        FROM generate_series(1, 2) n;
    INSERT INTO new_device_requests (tenant, id, status, owner, created_at)
        VALUES ('t7', 'waits', 'PENDING_ACCEPTANCE', 'mia', now());
    INSERT INTO device_placements VALUES ('t7', 'mia', 1);
    INSERT INTO options (tenant, category, key, value) VALUES ('t7', 'plant', 'place', 'north');
    INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments)
        VALUES ('t7', 1, 1, 'x', now(), 0, 'x', now(), '{}');
    INSERT INTO operations (tenant, id, device, status, created_at, fragments)
        VALUES ('t7', 5000, 1, 'PENDING', now(), '{}');
    INSERT INTO binaries (tenant, id, application, name, content_type, length, created_at)
        VALUES ('t7', 1, 7002, 'x', 'x/y', 100000, now());
    INSERT INTO binary_chunks
        SELECT 't7', 1, n, convert_to(repeat(md5(n::text), 30000), 'UTF8') FROM generate_series(0, 3) n;
    INSERT INTO application_files VALUES ('t7', 1, 'index.html', 'text/html', '', 0, 1);
    INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, last_alarm, user_name, base,
        fence, leased_until)
        VALUES ('t7', 1, 'CLEARED', '{}', '{}', '{}', '{}', 1, 'mia', 'http://h', 1, now());
    INSERT INTO bulk_operations (tenant, id, group_id, start_at, ramp, prototype, status, creator, base, created_at,
        total, chosen, place, vanished, due_at, fence, leased_until)
        VALUES ('t7', 70, 1, now(), 0.1, '{}', 'COMPLETED', 'mia', 'h', now(), 1, true, 1, 0, now(), 1, now());
    INSERT INTO bulk_operation_targets VALUES ('t7', 70, 1, 1);
    INSERT INTO measurement_shapes VALUES ('t7', 1, 't', '{f}', '{f}', '{f.s}', '{}');
    INSERT INTO source_shapes (tenant, source, shape, first) VALUES ('t7', 1, 1, 1);
    INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings)
        SELECT 't7', first_id('2026-03-05') + n, 1, now(), now()::timestamp, 1, ARRAY[n / 3.0, 'NaN', '-Infinity']
        FROM generate_series(1, 3000) n;
    INSERT INTO measurement_rollup_marks VALUES ('t7', 1, 1);
    INSERT INTO measurement_rollups VALUES ('t7', 1, 1, now()::timestamp, 0, now(), '{1}', '{1}');
    INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
        VALUES ('t7', 1, 10, now(), now());
    INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text)
        VALUES ('t7', 1, 'm', false, 0, 0, now(), 'x');
    INSERT INTO retention_rules (tenant, id, maximum_age) VALUES ('t7', 1, 365);
    INSERT INTO tenant_limits VALUES ('t7', 'heldPolls', 7);
    INSERT INTO tenant_usage VALUES ('t7', now(), 1, 1, 1, '{}');
    INSERT INTO tenant_statistics (tenant, day) VALUES ('t7', '2026-03-05');
    INSERT INTO traces (tenant, id, owner, ends_at) VALUES ('t7', 1, 'mia', now());
    INSERT INTO module_leases (tenant, process, fence, leased_until) VALUES ('t7', 1, 1, now());
    INSERT INTO retention_runs (tenant, due_at, leased_until) VALUES ('t7', now(), now())";

/// Inserts the application of another tenant that `t7` has subscribed to. It has another id in each deployment.
pub(super) async fn insert_application(database: &TestDatabase, id: i64) {
    let statement = "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, \
        required_roles, roles, created_at) \
        VALUES ('management', $1, 'rules', 'MICROSERVICE', 'MARKET', 'rules', 'x', '{}', '{}', now())";
    database.execute(statement, &[&id]).await;
}

/// Returns a database whose tenant `t7` has rows in every table.
pub(super) async fn filled() -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    database.insert_tenant("t7", "plant7.example.com").await;
    insert_application(&database, 7001).await;
    database.run_script(ROWS).await;
    let key = database.key();
    let sealed = |place: [&str; 3]| key.sealing().seal(place, &place.join("+"));
    let option = "INSERT INTO options (tenant, category, key, value) \
        VALUES ('t7', 'mail', 'credentials.password', $1)";
    database.execute(option, &[&sealed(["t7", "mail", "credentials.password"])]).await;
    let application = "UPDATE applications SET sealed_key = $1 WHERE id = 7002";
    database.execute(application, &[&sealed(["application", "7002", "key"])]).await;
    let service = "INSERT INTO users (tenant, name, enabled, roles, created_at, application, duty, sealed_password) \
        VALUES ('t7', 'service_rules', true, '{}', now(), 7001, 'SERVICE', $1)";
    database.execute(service, &[&sealed(["application user", "t7", "7001 SERVICE"])]).await;
    let factor = "INSERT INTO second_factors (tenant, user_name, sealed_secret) VALUES ('t7', 'mia', $1)";
    database.execute(factor, &[&sealed(["second factor", "t7", "mia"])]).await;
    database
}

/// Returns a database for an import of `t7`.
pub(super) async fn empty() -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    insert_application(&database, 8001).await;
    database
}

#[tokio::test]
async fn rows_of_every_table_arrive_under_another_id() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let directory = scratch.path();
    let file = export(&source, directory, "t7", "t7.tenant");
    let tables = manifest_of(&file)["content"]["tables"].clone();
    for table in tables.as_array().unwrap() {
        assert_ne!(table["rows"], 0, "this test puts nothing into {table}");
    }
    let arguments = ["t7.tenant", "--as", "t9", "--domain", "plant9.example.com"];
    let rows_of = async |table: &str| target.count(&format!("{table} WHERE tenant = 't9'")).await;

    let said = succeed(on(&target, directory, &IMPORT, &[&arguments[..], &["--dry-run"]].concat()));
    assert!(said.contains("t9 (plant9.example.com) could be imported"), "{said}");
    assert_eq!((target.count("tenants WHERE id = 't9'").await, rows_of("managed_objects").await), (0, 0));
    let said = succeed(on(&target, directory, &IMPORT, &arguments));

    assert!(
        said.contains("t9 (plant9.example.com) is imported") && !said.contains("cannot be opened"),
        "{said}"
    );
    let digest = |table: &Value| table["digest"].as_str().unwrap().to_owned();
    assert!(tables.as_array().unwrap().iter().all(|table| said.contains(&digest(table))), "{said}");
    for (table, _) in platform_store::tenancy::transfer::LEFT_TABLES {
        assert_eq!(rows_of(table).await, 0, "{table}");
    }
    assert_eq!(target.count("consumers WHERE reader_server IS NOT NULL").await, 0);
    assert_eq!(target.count("audit_records WHERE activity = 'Tenant imported'").await, 2);
    assert_eq!(source.count("audit_records WHERE activity = 'Tenant exported'").await, 1);
    assert_eq!(target.count("measurements_2026_03 WHERE tenant = 't9'").await, 3000);
    assert_eq!(target.count("journal_notifications_2026_03_05_07 WHERE tenant = 't9'").await, 2);
}

#[tokio::test]
async fn secrets_applications_numbers_and_positions_fit_their_new_place() {
    let (scratch, source, target) = (scratch(), filled().await, empty().await);
    let directory = scratch.path();
    export(&source, directory, "t7", "t7.tenant");
    let arguments = ["t7.tenant", "--as", "t9", "--domain", "plant9.example.com"];
    succeed(on(&target, directory, &IMPORT, &arguments));
    let text = async |statement: &str| -> String { target.query(statement, &[]).await[0].get(0) };

    let key = target.key();
    for (statement, place, secret) in [
        (
            "SELECT value FROM options WHERE tenant = 't9' AND category = 'mail'",
            ["t9", "mail", "credentials.password"],
            "t7+mail+credentials.password",
        ),
        (
            "SELECT sealed_password FROM users WHERE tenant = 't9' AND application = 8001",
            ["application user", "t9", "8001 SERVICE"],
            "application user+t7+7001 SERVICE",
        ),
        (
            "SELECT sealed_secret FROM second_factors WHERE tenant = 't9'",
            ["second factor", "t9", "mia"],
            "second factor+t7+mia",
        ),
    ] {
        assert_eq!(key.sealing().open(place, &text(statement).await).as_deref(), Some(secret), "{place:?}");
    }
    let subscribed = "SELECT string_agg(application::text, ' ' ORDER BY application) FROM subscriptions \
        WHERE tenant = 't9'";
    assert_eq!(text(subscribed).await, "7002 8001");
    for (sequence, greatest) in [
        ("operation_ids", 5000),
        ("bulk_operation_ids", 70),
        ("links_position_seq", 39),
        ("revoked_certificates_number_seq", 9),
    ] {
        let next: i64 = target.query(&format!("SELECT nextval('{sequence}')"), &[]).await[0].get(0);
        assert_eq!(next, greatest + 1, "{sequence}");
    }
    // The exported tenant was active, so its consumers may have acknowledged later positions since.
    let positions = "SELECT string_agg(position || ' ' || coalesce(missed_from::text, '-'), ', ' ORDER BY name) \
        FROM consumers WHERE tenant = 't9'";
    assert_eq!(text(positions).await, "1 -, 1000000002 3");
}
