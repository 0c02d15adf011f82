//! `DELETE /tenant/tenants/<id>`.

use tokio::task::JoinHandle;

use super::*;

const T7: &str = "/tenant/tenants/t7";

/// Creates a row of a tenant in every table, and more objects than are deleted in one step.
async fn fill(server: &TestServer, tenant: &str) {
    for statement in [
        "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, required_roles, \
         roles, created_at) SELECT $1, (hashtext($1)::bigint & 65535) * 10000 + n, 'a' || n, 'EXTERNAL', 'PRIVATE', \
         $1 || n, 'x', '{}', '{}', now() FROM generate_series(1, 2500) n",
        "INSERT INTO subscriptions (tenant, application, created_at) \
            SELECT $1, id, now() FROM applications WHERE tenant = $1",
        "INSERT INTO managed_objects (tenant, id, owner, created_at, updated_at, fragments) \
            SELECT $1, n, 'boss', now(), now(), '{}' FROM generate_series(1, 5000) n",
        "INSERT INTO links (tenant, kind, parent, child) \
            SELECT $1, 'childDevices', 1, n FROM generate_series(2, 3000) n",
        "INSERT INTO external_ids (tenant, type, value, object, created_at) \
            SELECT $1, 'serial', n::text, 1, now() FROM generate_series(1, 2500) n",
        "INSERT INTO alarms (tenant, id, source, type, time, time_offset, text, status, severity, count, \
                first_time, first_offset, created_at, fragments) \
            SELECT $1, n, 1, n::text, now(), 0, 'x', 'ACTIVE', 'MAJOR', 1, now(), 0, now(), '{}' \
            FROM generate_series(1, 4500) n",
        "INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, \
                changes, created_at) \
            SELECT $1, n, 'x', 'x', now(), 'x', '1', 'boss', 'warning', '[]', now() \
            FROM generate_series(1, 2001) n",
        "INSERT INTO users (tenant, name, enabled, roles, created_at) \
            SELECT $1, 'user' || n, true, '{}', now() FROM generate_series(1, 2500) n",
        "INSERT INTO token_clients (tenant, id, name, user_name, scope, secret_hash, created_at) \
            SELECT $1, $1 || n, 'x', 'user1', '{READ}', 'x', now() FROM generate_series(1, 2500) n",
        "INSERT INTO access_tokens (tenant, hash, client, scope, issued_at, expires_at) \
            SELECT $1, ($1 || n)::bytea, $1 || 1, '{READ}', now(), now() FROM generate_series(1, 2500) n",
        "INSERT INTO user_tokens (tenant, id, user_name, hash, name, scope, created_at, expires_at, ends_at) \
            SELECT $1, n::text, 'user1', ($1 || n)::bytea, 'x', '{READ}', now(), now() + interval '1 hour', \
            now() + interval '1 hour' FROM generate_series(1, 2500) n",
        "INSERT INTO second_factors (tenant, user_name, sealed_secret) \
            SELECT $1, 'user' || n, 'x' FROM generate_series(1, 2500) n",
        "INSERT INTO idempotency_keys (tenant, user_name, key, request, response) \
            SELECT $1, 'user1', n::text, 'x', '{}' FROM generate_series(1, 2500) n",
        "INSERT INTO trusted_certificates (tenant, fingerprint, name, enabled, registers, id_source, certificate, \
            subject, issuer, serial, not_before, not_after, subject_hash, key_hash, proven, issued_days, created_at) \
            SELECT $1, n::text, 'x', true, false, 'COMMON_NAME', 'x', 'x', 'x', '1', now(), now(), 'x', 'x', true, 1, \
            now() FROM generate_series(1, 2500) n",
        "INSERT INTO authority_keys (key_hash, tenant) SELECT ($1 || n)::bytea, $1 FROM generate_series(1, 2500) n",
        "INSERT INTO device_certificates (tenant, fingerprint, user_name, authority, issuers, serials, subject, \
            not_before, not_after, created_at) \
            SELECT $1, n::text, 'user1', '1', '{x}', '{1}', 'x', now(), now(), now() FROM generate_series(1, 2500) n",
        "INSERT INTO revoked_certificates (tenant, authority, issuer, serial, revoked_at) \
            SELECT $1, '1', 'x', n::text, now() FROM generate_series(1, 2500) n",
        "INSERT INTO spent_tokens (tenant, hash, expires_at) \
            SELECT $1, n::text::bytea, now() + interval '1 hour' FROM generate_series(1, 2500) n",
        "INSERT INTO journals (tenant, is_written, first, newest, bytes, newest_at) \
            VALUES ($1, false, 1, 2500, 2500, now())",
        "INSERT INTO journal_notifications (tenant, position, arrived_at, bytes, resource, source, content) \
            SELECT $1, n, now(), n, 0, 1, 'x' FROM generate_series(1, 2500) n",
        "INSERT INTO consumers (tenant, name, owner, channels, created_at, max_age, max_bytes, position, position_at, \
                bytes) \
            SELECT $1, 'consumer' || n, 'user1', '{/alarms/*}', now(), 60, 65536, 2500, now(), 2500 \
            FROM generate_series(1, 2500) n",
        "INSERT INTO publication_listeners (tenant, server, hears) SELECT $1, server, true FROM publication_servers",
        // Servers delete what belongs to a server that is gone, so these rows belong to the running one.
        "INSERT INTO user_sessions (tenant, user_name, server, clients) \
            SELECT $1, 'user' || n, server, '{}' FROM publication_servers, generate_series(1, 2500) n",
        "INSERT INTO stored_sessions (client, tenant, state, expires_at) \
            SELECT $1 || n, $1, '{}', now() + interval '1 hour' FROM generate_series(1, 2500) n",
        "INSERT INTO new_device_requests (tenant, id, status, owner, created_at) \
            SELECT $1, $1 || n, 'PENDING_ACCEPTANCE', 'boss', now() FROM generate_series(1, 2500) n",
        "INSERT INTO device_placements (tenant, user_name, group_id) \
            SELECT $1, 'user' || n, 1 FROM generate_series(1, 2500) n",
        "INSERT INTO groups (tenant, id, name, roles) VALUES ($1, 4711, 'crew', '{}')",
        "INSERT INTO group_members (tenant, group_id, user_name) \
            SELECT $1, 4711, 'user' || n FROM generate_series(1, 2500) n",
        "INSERT INTO options (tenant, category, key, value) VALUES ($1, 'c', 'k', 'v')",
        "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments) \
            SELECT $1, n, 1, 'x', now(), 0, 'x', now(), '{}' FROM generate_series(1, 2500) n",
        "INSERT INTO operations (tenant, id, device, status, created_at, fragments) \
            SELECT $1, n, 1, 'PENDING', now(), '{}' FROM generate_series(1, 2500) n",
        // A complete and an incomplete file of an event.
        "INSERT INTO binaries (tenant, id, event, incomplete, name, content_type, length, created_at) \
            SELECT $1, 10 + n, n, n > 1, 'x', 'x/y', 1, now() FROM generate_series(1, 2) n",
        // The content of an object, and a file that is still being uploaded.
        "INSERT INTO binaries (tenant, id, object, name, content_type, length, created_at) \
            VALUES ($1, 1, 1, 'x', 'x/y', 1, now()), ($1, 2, NULL, NULL, NULL, NULL, now())",
        "INSERT INTO binary_chunks (tenant, binary_id, number, bytes) VALUES ($1, 1, 0, 'x'), ($1, 2, 0, 'x')",
        "INSERT INTO application_files (tenant, binary_id, path, content_type, sha256, start, length) \
            VALUES ($1, 2, 'index.html', 'text/html', '', 0, 1)",
        "INSERT INTO bulk_alarm_updates (tenant, id, status, statuses, severities, types, below, last_alarm, \
         user_name, base, fence, leased_until) VALUES ($1, 1, 'CLEARED', '{}', '{}', '{}', '{}', 1, 'boss', \
         'http://h', 1, now() + interval '1 hour')",
        "INSERT INTO bulk_operations (tenant, id, group_id, start_at, ramp, prototype, status, creator, base, \
         created_at, total, chosen, place, vanished, due_at, fence, leased_until) SELECT $1, n, 1, now(), 1, '{}', \
         'COMPLETED', 'boss', 'http://h', now(), 1, true, 1, 0, now(), 1, now() FROM generate_series(1, 2500) n",
        "INSERT INTO bulk_operation_targets (tenant, bulk_operation, position, device) \
            SELECT $1, 1, n, n FROM generate_series(1, 2500) n",
        "INSERT INTO measurement_shapes (tenant, id, type, members, fragments, series, definition) \
            VALUES ($1, 1, 't', '{f}', '{f}', '{f.s}', '{}')",
        "INSERT INTO source_shapes (tenant, source, shape, first) VALUES ($1, 1, 1, 1)",
        "INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings) \
            SELECT $1, n, 1, now(), now()::timestamp, 1, '{1}' FROM generate_series(1, 4500) n",
        "INSERT INTO measurement_rollup_marks (tenant, source, rolled) \
            SELECT $1, n, 1 FROM generate_series(1, 2500) n",
        "INSERT INTO measurement_rollups (tenant, source, shape, hour, zone, first_time, least, greatest) \
            SELECT $1, 1, n, now()::timestamp, 0, now(), '{1}', '{1}' FROM generate_series(1, 4500) n",
        "INSERT INTO availability (tenant, device, response_interval, last_message, counted_from) \
            SELECT $1, n, 0, now(), now() FROM generate_series(1, 2500) n",
        "INSERT INTO presence (tenant, user_name, process, connected_until) \
            SELECT $1, 'user' || n, 1, now() FROM generate_series(1, 2500) n",
        "INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text) \
            SELECT $1, n, 'm' || n, false, 0, 0, now(), 'x' FROM generate_series(1, 2500) n",
        "INSERT INTO retention_rules (tenant, id, maximum_age) SELECT $1, n, 365 FROM generate_series(1, 1000) n",
        // Retention runs in progress. A late run about which its tenant was not alarmed yet would get an alarm, whose
        // source has an external id.
        "INSERT INTO retention_runs (tenant, due_at, leased_until, told_late) \
            SELECT $1, now() - make_interval(days => n), now() + interval '1 hour', true FROM generate_series(1, 90) n",
        "INSERT INTO tenant_limits (tenant, name, value) VALUES ($1, 'unknown', 7)",
        "INSERT INTO tenant_counts (tenant, server, held_polls, web_sockets, sessions) \
            SELECT $1, server, 1, 1, 1 FROM publication_servers",
        "INSERT INTO tenant_usage (tenant, measured_at, devices, devices_with_children, stored_bytes, tables) \
            VALUES ($1, now(), 1, 1, 1, '{}') ON CONFLICT DO NOTHING",
        "INSERT INTO tenant_statistics (tenant, day) \
            SELECT $1, (now() AT TIME ZONE 'UTC')::date - n FROM generate_series(0, 99) n ON CONFLICT DO NOTHING",
        "INSERT INTO tenant_activity (tenant, server, measured_at, sessions, polls, sockets, queued, requests, writes, \
                deliveries) \
            VALUES ($1, 0, now(), 1, 1, 1, 1, 1, 1, 1)",
        "INSERT INTO tenant_limits (tenant, name, value) VALUES ($1, 'heldPolls', 7)",
        "INSERT INTO traces (tenant, id, owner, ends_at) VALUES ($1, 1, 'admin', now() + interval '1 hour')",
        "INSERT INTO module_leases (tenant, process, fence, leased_until) VALUES ($1, 1, 1, now())",
    ] {
        server.database().execute(statement, &[&tenant]).await;
    }
}

#[tokio::test]
async fn nothing_of_a_deleted_tenant_is_left_in_any_table() {
    let (server, _) = with_tenant("t7").await;
    create_tenant(&server, "t8").await;
    fill(&server, "t7").await;
    fill(&server, "t8").await;
    let tables = tables_of_tenants(server.database()).await;
    assert!(tables.len() >= 9, "{tables:?}");
    let mut of_other = Vec::new();
    for table in &tables {
        assert_ne!(rows_of(server.database(), table, "t7").await, 0, "this test puts nothing into {table}");
        of_other.push(rows_of(server.database(), table, "t8").await);
    }

    let answer = management(&server).delete(T7).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    for (table, others) in tables.iter().zip(of_other) {
        assert_eq!(rows_of(server.database(), table, "t7").await, 0, "{table}");
        assert_eq!(rows_of(server.database(), table, "t8").await, others, "{table}");
    }
    assert_eq!(management(&server).get(T7).await.status, 404);
    assert_eq!(ids_seen_by(&management(&server)).await, ["main", "management", "t8"]);
}

#[tokio::test]
async fn users_of_a_deleted_tenant_are_401_and_their_polls_end() {
    let (server, boss) = with_tenant("t7").await;
    let held = boss.listen("/alarms/*").await.hold().await;

    assert_eq!(management(&server).delete(T7).await.status, 204);

    assert_eq!(reply(&soon("the answer of the held poll", held.answer()).await)["successful"], false);
    until("the end of the user", async || boss.get("/alarm/alarms").await.status == 401).await;
}

#[tokio::test]
async fn interrupted_deletion_is_continued_by_the_next() {
    let (server, boss) = with_tenant("t7").await;
    fill(&server, "t7").await;
    // The rows are as left by a server that stops in between.
    let database = server.database();
    database.execute("UPDATE tenants SET status = 'SUSPENDED' WHERE id = 't7'", &[]).await;
    database.execute("DELETE FROM alarms WHERE tenant = 't7'", &[]).await;
    assert_eq!(boss.get("/alarm/alarms").await.status, 403);

    let (continued, again) =
        (management(&server).delete(T7).await.status, management(&server).delete(T7).await.status);

    assert_eq!((continued, again), (204, 404));
    for table in tables_of_tenants(database).await {
        assert_eq!(rows_of(database, &table, "t7").await, 0, "{table}");
    }
}

/// The state of the tenant that is deleted; no row when it is gone.
const STATUS: &str = "SELECT status FROM tenants WHERE id = 't7'";

/// Starts the deletion of a filled tenant. The tenant is suspended, but the deletion waits for a lock on its objects
/// until the returned client rolls back.
async fn held_deletion(server: &TestServer) -> (tokio_postgres::Client, JoinHandle<u16>) {
    create_tenant(server, "t7").await;
    fill(server, "t7").await;
    let database = server.database();
    let (holder, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let lock = "BEGIN; SELECT FROM managed_objects WHERE tenant = 't7' FOR UPDATE";
    holder.batch_execute(lock).await.unwrap();
    let management = management(server);
    let deleting = tokio::spawn(async move { management.delete(T7).await.status });
    until("the suspension", async || database.query(STATUS, &[]).await[0].get::<_, &str>(0) == "SUSPENDED")
        .await;
    (holder, deleting)
}

#[tokio::test]
async fn deletion_cuts_the_tenant_off_before_it_takes_anything_away() {
    let server = TestServer::start().await;

    let (holder, deleting) = held_deletion(&server).await;

    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(soon("the end of the deletion", deleting).await.unwrap(), 204);
}

#[tokio::test]
async fn id_and_domain_of_a_deleted_tenant_are_free_again() {
    let (server, boss) = with_tenant("t7").await;
    boss.create_device("pump").await;
    management(&server).delete(T7).await;

    let boss = create_tenant(&server, "t7").await;

    assert_eq!(boss.read("/inventory/managedObjects").await["managedObjects"], json!([]));
}

#[tokio::test]
async fn tenants_below_a_deleted_one_are_below_the_one_above_it() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "t7").await;
    reseller.create(TENANTS, &tenant_of("child")).await;

    assert_eq!(management(&server).delete(T7).await.status, 204);

    let child = management(&server).read(&format!("{TENANTS}/child")).await;
    assert_eq!(child["parent"], "management");
    let chief = server.caller("child/boss", crate::harness::ADMIN_PASSWORD);
    assert_eq!(chief.get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn only_management_deletes_and_only_with_the_admin_role() {
    let server = TestServer::start().await;
    let reseller = create_reseller(&server, "reseller").await;
    reseller.create(TENANTS, &tenant_of("t7")).await;

    reseller.delete(T7).await.expect_error(403, "security/Forbidden");
    for role in ["READ", "CREATE", "UPDATE"].map(|word| format!("ROLE_TENANT_MANAGEMENT_{word}")) {
        let caller = manager_with(&server, &role, &[&role]).await;
        assert_eq!(caller.delete(T7).await.status, 403, "{role}");
    }
    let admin = manager_with(&server, "admin2", &["ROLE_TENANT_MANAGEMENT_ADMIN"]).await;
    assert_eq!(admin.delete(T7).await.status, 204);
}

#[tokio::test]
async fn management_cannot_be_deleted() {
    let server = TestServer::shared().await;

    let answer = management(&server).delete("/tenant/tenants/management").await;

    assert_eq!((answer.status, answer.error().as_str()), (403, "security/Forbidden"));
    assert!(answer.message().contains("management"), "{}", answer.message());
    assert_eq!(management(&server).get("/tenant/currentTenant").await.status, 200);
}

#[tokio::test]
async fn unknown_tenant_is_404() {
    let server = TestServer::shared().await;

    for id in ["unknown", "%00", "T7", "a%2Fb"] {
        management(&server).delete(&format!("{TENANTS}/{id}")).await.expect_error(404, "tenants/Not Found");
    }
}

#[tokio::test]
async fn deletion_continues_when_its_client_stops_waiting() {
    let server = TestServer::start().await;
    let (holder, deleting) = held_deletion(&server).await;

    deleting.abort();
    holder.batch_execute("ROLLBACK").await.unwrap();

    let database = server.database();
    until("the end of the tenant", async || database.query(STATUS, &[]).await.is_empty()).await;
}
