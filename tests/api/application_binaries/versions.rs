//! A new version replaces the old one completely and at once (W-02), however an upload ends.

use super::*;

/// Returns the contents of three files, which name their version. The last one is longer than a row of the database.
fn version(name: &str) -> Vec<u8> {
    let long = name.repeat(100_000);
    web_archive(&[("index.html", name), ("a.txt", name), ("long.txt", &long)])
}

async fn served(caller: &Caller) -> [String; 2] {
    let [page, file] = ["/apps/web-<tenant>/", "/apps/web-<tenant>/a.txt"].map(|path| caller.get(path));
    [page.await.text, file.await.text]
}

#[tokio::test]
async fn next_upload_takes_the_place_of_the_one_before() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let first = archive(&[Entry::stored("index.html", "first"), Entry::stored("gone.txt", "gone")]);
    assert_eq!(upload(&admin, &id, &first).await.status, 204);
    let before = show(&admin, &id).await;
    assert_eq!(admin.get("/apps/web-<tenant>/gone.txt").await.status, 200);

    assert_eq!(upload(&admin, &id, &version("second")).await.status, 204);

    assert_eq!(served(&admin).await, ["second", "second"]);
    assert_eq!(admin.get("/apps/web-<tenant>/gone.txt").await.status, 404);
    assert_ne!(show(&admin, &id).await["activeVersionId"], before["activeVersionId"]);
    let (binaries, _, files) = stored(&server).await;
    assert_eq!((binaries, files), (1, 3));
}

#[tokio::test]
async fn client_that_vanishes_in_the_middle_changes_nothing_and_leaves_nothing() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    assert_eq!(upload(&admin, &id, &version("old")).await.status, 204);
    let (before, rows) = (show(&admin, &id).await, stored(&server).await);
    let body = form("file", &archive(&[Entry::stored("index.html", "new".repeat(300_000))]));

    for part in [0, 200, body.len() / 2, body.len() - 1] {
        let mut connection = RawConnection::open(server.address()).await;
        connection.send(head(&admin, &id, body.len())).await;
        connection.send(&body[..part]).await;
        connection.reset();
    }

    assert_eq!(show(&admin, &id).await, before);
    assert_eq!(served(&admin).await, ["old", "old"]);
    until("nothing is left", async || stored(&server).await == rows).await;
}

#[tokio::test]
async fn client_that_vanishes_behind_its_last_byte_leaves_one_version_whole() {
    let (server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    assert_eq!(upload(&admin, &id, &version("old")).await.status, 204);
    let body = form("file", &version("new"));

    for _ in 0..5 {
        let mut connection = RawConnection::open(server.address()).await;
        connection.send(head(&admin, &id, body.len())).await;
        connection.send(&body).await;
        connection.reset();
    }

    // The server completes uploads in progress, so that none is left after this.
    let database = server.shared_database();
    server.stop().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    until("one binary is left", async || stored(&server).await.0 == 1).await;
    let [page, file] = served(&server.admin()).await;
    assert!(page == file && ["old", "new"].contains(&&*page), "{page} {file}");
    assert_eq!(stored(&server).await.2, 3);
}

fn head(caller: &Caller, id: &str, length: usize) -> String {
    format!(
        "POST {APPLICATIONS}/{id}/binaries HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n\
        Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {length}\r\n\r\n",
        caller.authorization().unwrap()
    )
}

#[tokio::test]
async fn of_uploads_at_once_one_wins_whole_at_two_servers_too() {
    let server = TestServer::start_with(|settings| settings.workers = 2).await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let (admin, admin_there) = (server.admin(), other.admin());
    let id = create(&admin, "HOSTED", "web").await;
    let archives: Vec<_> = (0..6).map(|n| version(&format!("version{n}"))).collect();

    let uploads = archives.iter().enumerate().map(|(n, archive)| {
        let caller = if n % 2 == 0 { &admin } else { &admin_there };
        upload(caller, &id, archive)
    });
    let answers = soon("the uploads", join_all(uploads)).await;

    assert!(answers.iter().all(|answer| answer.status == 204));
    let [page, file] = served(&admin).await;
    assert!(page == file && page.starts_with("version"), "{page} {file}");
    assert_eq!(admin.get("/apps/web-<tenant>/long.txt").await.text, page.repeat(100_000));
    let (binaries, _, files) = stored(&server).await;
    assert_eq!((binaries, files), (1, 3));
}

#[tokio::test]
async fn clone_has_the_content_of_its_original_and_keeps_it() {
    let (_server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    assert_eq!(upload(&admin, &id, &version("one")).await.status, 204);

    let clone = admin.request("POST", &format!("{APPLICATIONS}/{id}/clone")).accepting_json().send().await;
    assert_eq!(upload(&admin, &id, &version("two")).await.status, 204);

    assert_eq!(clone.status, 201, "{}", clone.text);
    let clone = clone.json();
    assert!(clone["activeVersionId"].is_string(), "{clone}");
    assert_ne!(clone["activeVersionId"], show(&admin, &id).await["activeVersionId"]);
    assert_eq!(admin.get("/apps/cloneweb-<tenant>/").await.text, "one");
    assert_eq!(admin.get("/apps/cloneweb-<tenant>/long.txt").await.text, "one".repeat(100_000));
    assert_eq!(served(&admin).await, ["two", "two"]);
}

#[tokio::test]
async fn clone_of_a_microservice_says_of_itself_what_the_original_does() {
    let (_server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "pump").await;
    let manifest = r#"{"contextPath":"pump","requiredRoles":["ROLE_ALARM_READ"],"version":"1"}"#;
    assert_eq!(upload(&admin, &id, &service_archive(manifest)).await.status, 204);

    let clone = admin.request("POST", &format!("{APPLICATIONS}/{id}/clone")).accepting_json().send().await;

    assert_eq!(clone.status, 201, "{}", clone.text);
    assert_eq!(clone.json()["manifest"], show(&admin, &id).await["manifest"]);
    assert_eq!(clone.json()["requiredRoles"], serde_json::json!(["ROLE_ALARM_READ"]));
    assert_eq!(clone.json()["contextPath"], "clonepump");
}

#[tokio::test]
async fn version_goes_with_its_application() {
    let (server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    assert_eq!(upload(&admin, &id, &version("one")).await.status, 204);

    server.database().execute("DELETE FROM applications WHERE name = 'web'", &[]).await;

    assert_eq!(stored(&server).await, (0, 0, 0));
}

#[tokio::test]
async fn upload_of_an_application_that_is_deleted_meanwhile_is_404_and_leaves_nothing() {
    let (server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    let body = form("file", &version("one"));
    let mut connection = RawConnection::open(server.address()).await;
    connection.send(head(&admin, &id, body.len())).await;
    connection.send(&body[..body.len() / 2]).await;

    // The application is deleted while half of the upload has arrived; the server may or may not have read that half.
    server.database().execute("DELETE FROM applications WHERE name = 'web'", &[]).await;
    connection.send(&body[body.len() / 2..]).await;

    connection.read_until("HTTP/1.1 404").await;
    until("nothing is left", async || stored(&server).await == (0, 0, 0)).await;
}
