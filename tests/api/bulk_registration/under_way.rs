//! Files that are being registered: how many a tenant has at once, and what ends one early (N-18).

use tokio_postgres::NoTls;

use super::*;

/// A server on which each tenant may register one file at once.
async fn server() -> (TestServer, Caller) {
    TestServer::start_with(|settings| settings.limits.registration_files = 1).await.with_admin()
}

/// Sends a file.
async fn send_file(server: &TestServer, admin: &Caller, file: String) -> RawConnection {
    let body = form(file);
    // The server remembers the caller at this host, so it begins with the file as soon as it arrives, before others.
    admin.get(OBJECTS).await.expect(200);
    let mut connection = RawConnection::open(server.address()).await;
    let head = [
        &*format!("POST {REGISTRATIONS} HTTP/1.1"),
        &format!("Host: {}", server.address()),
        &format!("Authorization: {}", admin.authorization().unwrap()),
        &format!("Content-Type: {CONTENT_TYPE}"),
        &format!("Content-Length: {}", body.len()),
    ];
    connection.send(format!("{}\r\n\r\n", head.join("\r\n"))).await;
    connection.send(&body).await;
    connection
}

/// Sends a file whose passwords take minutes to hash, because they count as chosen by people, and waits until it is
/// being registered.
async fn send_slow_file(server: &TestServer, admin: &Caller) -> RawConnection {
    let rows = (0..20_000).map(|n| format!("slow{n};short-{n}\n"));
    let file = "ID;CREDENTIALS\n".to_owned() + &rows.collect::<String>();
    let connection = send_file(server, admin, file).await;
    // A small file that came first would take the only place, and the slow one would get 429.
    tokio::time::sleep(Duration::from_secs(3)).await;
    small_file_gets(admin, 429).await;
    connection
}

/// Waits until a small file of the tenant gets a status.
async fn small_file_gets(admin: &Caller, status: u16) {
    until("the status of a small file", async || {
        let answer = upload(admin, "ID;CREDENTIALS\nsmall;secret-of-a-machine\n").await;
        assert!([201, 429].contains(&answer.status), "{}", answer.text);
        answer.status == status
    })
    .await;
}

async fn assert_nothing_of_the_slow_file_is_stored(database: &TestDatabase) {
    let stored = database.query("SELECT name FROM users WHERE name LIKE 'device_slow%'", &[]).await;
    assert!(stored.is_empty(), "{} rows", stored.len());
}

#[tokio::test]
async fn tenant_has_one_file_at_once_and_it_ends_when_its_client_has_left() {
    let (server, admin) = server().await;
    let mut connection = send_slow_file(&server, &admin).await;

    let refused = upload(&admin, "ID;CREDENTIALS\nsmall;secret\n").await.expect(429);
    assert_eq!(refused.header("Retry-After"), Some("10"));
    assert!(refused.message().contains("--registration-files-per-tenant"), "{}", refused.text);
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    upload(&management, "ID;CREDENTIALS;TENANT\nother;secret-of-a-machine;management\n").await.expect(201);

    // A client that only closes its half of the connection looks the same as one that went away.
    connection.half_close().await;

    small_file_gets(&admin, 201).await;
    assert_nothing_of_the_slow_file_is_stored(server.database()).await;
}

#[tokio::test]
async fn server_that_stops_ends_the_file_and_says_so() {
    let (server, admin) = server().await;
    let mut connection = send_slow_file(&server, &admin).await;
    let database = server.shared_database();

    server.stop().await;

    let response = connection.read_to_end().await;
    assert!(response.starts_with("HTTP/1.1 503 ") && response.contains("stopping"), "{response}");
    assert_nothing_of_the_slow_file_is_stored(&database).await;
}

#[tokio::test]
async fn server_that_stops_does_not_wait_for_a_file_that_the_database_holds_up() {
    let (server, admin) = server().await;
    let database = server.shared_database();
    let (blocker, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    blocker.batch_execute("BEGIN; LOCK TABLE new_device_requests IN EXCLUSIVE MODE").await.unwrap();
    let mut connection = send_file(&server, &admin, "ID\nslow1\n".to_owned()).await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'new_device_requests'::regclass \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    until("a row that waits for the lock", async || {
        database.query(waiting, &[]).await[0].get::<_, i64>(0) > 0
    })
    .await;

    server.stop().await;

    let response = connection.read_to_end().await;
    assert!(response.starts_with("HTTP/1.1 503 ") && response.contains("stopping"), "{response}");
    drop(blocker);
}
