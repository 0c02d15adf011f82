//! `POST /application/applications/<id>/binaries` as W-01 and W-02 say.

use super::*;

/// Uploads with these headers.
async fn upload_with(caller: &Caller, id: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
    let mut request = caller.request("POST", &format!("{APPLICATIONS}/{id}/binaries"));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(body).send().await
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=b");

#[tokio::test]
async fn upload_is_204_and_sets_the_active_version() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    assert_eq!(show(&admin, &id).await.get("activeVersionId"), None);

    let answer = upload(&admin, &id, &web_archive(&[("a/b.txt", "hello")])).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    let application = show(&admin, &id).await;
    assert!(application["activeVersionId"].as_str().is_some_and(|id| !id.is_empty()), "{application}");
    assert_eq!(server.admin().get("/apps/web-<tenant>/a/b.txt").await.text, "hello");
}

#[tokio::test]
async fn upload_that_names_a_json_type_is_201_with_the_application() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let media_type = format!("{MEDIA}application+json");

    for accept in ["application/json", &media_type, "text/html, application/json;q=0.5"] {
        let body = form("file", &web_archive(&[]));
        let answer = upload_with(&admin, &id, &[FORM, ("Accept", accept)], body).await.expect(201);

        assert_eq!(answer.json(), show(&admin, &id).await, "{accept}");
        assert_eq!(answer.json()["key"], format!("web-{}-key", server.tenant()), "{accept}");
        let link = format!("{}{APPLICATIONS}/{id}", server.base());
        assert_eq!(answer.header("Location"), Some(&*link), "{accept}");
    }
    let everything =
        upload_with(&admin, &id, &[FORM, ("Accept", "*/*")], form("file", &web_archive(&[]))).await;
    let page =
        upload_with(&admin, &id, &[FORM, ("Accept", "text/html")], form("file", &web_archive(&[]))).await;
    assert_eq!((everything.status, page.status), (204, 406));
}

#[tokio::test]
async fn upload_needs_the_part_file_once_in_a_form() {
    let (_server, admin, id) = with_application(TestServer::start().await, "HOSTED", "web").await;
    let whole = web_archive(&[]);
    let twice = [&form("file", &whole)[..form("file", &whole).len() - 6], b"\r\n", &form("file", &whole)[..]]
        .concat();
    let with_more = [
        b"--b\r\nContent-Disposition: form-data; name=\"more\"\r\n\r\nx\r\n".as_slice(),
        &form("file", &whole),
    ]
    .concat();

    for (headers, body, status, message) in [
        (FORM, form("archive", &whole), 422, "file"),
        (FORM, twice, 422, "twice"),
        (FORM, b"--b--\r\n".to_vec(), 422, "file"),
        (FORM, form("file", &whole)[..80].to_vec(), 400, "form-data"),
        (("Content-Type", "application/zip"), whole.clone(), 415, "multipart/form-data"),
        (("Content-Type", "application/json"), b"{}".to_vec(), 415, "multipart/form-data"),
    ] {
        let answer = upload_with(&admin, &id, &[headers], body).await;
        assert_eq!(answer.status, status, "{message}: {}", answer.text);
        assert!(answer.message().contains(message), "{}", answer.text);
    }
    assert_eq!(upload_with(&admin, &id, &[FORM], with_more).await.status, 204);
}

#[tokio::test]
async fn applications_without_an_archive_take_none() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for kind in ["EXTERNAL", "APAMA_CEP_RULE"] {
        let id = create(&admin, kind, kind).await;

        upload(&admin, &id, &web_archive(&[])).await.expect_message(422, kind);
    }
}

#[tokio::test]
async fn archive_without_what_its_type_needs_at_the_root_is_422_and_names_it() {
    let (server, admin) = TestServer::start().await.with_admin();
    let web = create(&admin, "HOSTED", "web").await;
    let service = create(&admin, "MICROSERVICE", "service").await;
    let of =
        |names: &[&str]| archive(&names.iter().map(|name| Entry::stored(name, "{}")).collect::<Vec<_>>());

    for (id, names, absent) in [
        (&web, &["docs/index.html", "Index.HTML"][..], "index.html"),
        (&web, &["index.html/x"], "index.html"),
        (&web, &[], "index.html"),
        (&service, &["platform.json"], "image.tar"),
        (&service, &["image.tar", "x/platform.json"], "platform.json"),
        (&service, &["index.html"], "platform.json, image.tar"),
    ] {
        let answer = upload(&admin, id, &of(names)).await;
        assert_eq!(answer.status, 422, "{names:?}: {}", answer.text);
        let message = answer.message();
        assert!(message.contains(&format!("missing at its root: {absent};")), "{names:?}: {message}");
    }
    assert_eq!(stored(&server).await, (0, 0, 0));
}

#[tokio::test]
async fn only_owners_with_the_role_upload() {
    let server = TestServer::start_with_tenant("plant7", "plant7.example.com").await;
    let (admin, other) = (server.admin(), server.caller("plant7/admin", ADMIN_PASSWORD));
    let reader = server.user_with("reader", &["ROLE_APPLICATION_MANAGEMENT_READ"]).await;
    let hidden = create(&admin, "HOSTED", "hidden").await;
    let market = create(&admin, "HOSTED", "market").await;
    server
        .database()
        .execute("UPDATE applications SET availability = 'MARKET' WHERE name = 'market'", &[])
        .await;
    let whole = web_archive(&[]);

    assert_eq!(upload(&server.stranger(), &hidden, &whole).await.status, 401);
    assert_eq!(upload(&reader, &hidden, &whole).await.status, 403);
    assert_eq!(upload(&other, &hidden, &whole).await.status, 404);
    assert_eq!(upload(&other, &market, &whole).await.status, 403);
    assert_eq!(upload(&admin, "4711", &whole).await.status, 404);
    assert_eq!(upload(&admin, "x", &whole).await.status, 404);
    assert_eq!(stored(&server).await, (0, 0, 0));
}

#[tokio::test]
async fn archive_beyond_the_setting_is_413_however_it_comes() {
    const LIMIT: usize = 300_000;
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.application_bytes = LIMIT).await.with_admin();
    let id = create(&admin, "HOSTED", "web").await;
    let fill = |length: usize| {
        let empty = archive(&[Entry::stored("index.html", "")]).len();
        archive(&[Entry::stored("index.html", "x".repeat(length - empty))])
    };

    assert_eq!(upload(&admin, &id, &fill(LIMIT)).await.status, 204);
    let answer = upload(&admin, &id, &fill(LIMIT + 1)).await;
    let far_beyond = upload(&admin, &id, &fill(3 * LIMIT)).await;

    assert_eq!((answer.status, far_beyond.status), (413, 413), "{}", answer.text);
    assert!(answer.message().contains("300000"), "{}", answer.text);
    until("nothing is left", async || stored(&server).await.0 == 1).await;
}

#[tokio::test]
async fn microservice_is_uploaded_with_its_image_which_is_not_served() {
    let (server, admin, id) = with_application(TestServer::start().await, "MICROSERVICE", "service").await;

    upload(&admin, &id, &service_archive(r#"{"apiVersion":"1"}"#)).await.expect(204);

    assert_eq!(show(&admin, &id).await["manifest"], json!({"apiVersion": "1"}));
    let files =
        server.database().query("SELECT path, length FROM application_files ORDER BY path", &[]).await;
    let files: Vec<(String, i64)> = files.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(files, [("image.tar".to_owned(), 8), ("platform.json".to_owned(), 18)]);
    assert_eq!(admin.get("/apps/service/image.tar").await.status, 404);
}

#[tokio::test]
async fn upload_in_chunks_without_a_length_is_taken() {
    let (server, admin, id) = with_application(TestServer::shared().await, "HOSTED", "web").await;
    let body = form("file", &web_archive(&[("a.txt", "hello")]));
    let mut connection = RawConnection::open(server.address()).await;

    let head = format!(
        "POST {APPLICATIONS}/{id}/binaries HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n\
        Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n",
        admin.authorization().unwrap()
    );
    connection.send(head).await;
    for piece in body.chunks(50) {
        connection.send([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()).await;
    }
    connection.send("0\r\n\r\n").await;

    connection.read_until("HTTP/1.1 204").await;
    assert_eq!(admin.get("/apps/web-<tenant>/a.txt").await.text, "hello");
}
