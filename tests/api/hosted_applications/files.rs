//! Paths, files and what they are sent as.

use super::*;

#[tokio::test]
async fn files_are_served_as_they_were_uploaded_whatever_their_length() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let long: String = (0..200_000).map(|n| format!("{n:08}")).collect();
    host(&admin, "web", &[("short.txt", "hello"), ("deep/er/long.txt", &long), ("empty.txt", "")]).await;

    for (path, content) in [("short.txt", "hello"), ("deep/er/long.txt", &long), ("empty.txt", "")] {
        // The second response comes from the cache.
        for _ in 0..2 {
            let answer = admin.get(&format!("/apps/web/{path}")).await;
            assert_eq!((answer.status, answer.text == content), (200, true), "{path}");
            assert_eq!(answer.header("Content-Length"), Some(&*content.len().to_string()), "{path}");
        }
    }
}

#[tokio::test]
async fn file_that_is_too_long_for_memory_is_served_too() {
    let (_server, admin) =
        TestServer::start_with(|settings| settings.hosted_cache_bytes = 1 << 20).await.with_admin();
    let long: String = (0..500_000).map(|n| format!("{n:08}")).collect();
    let small = "x".repeat(200_000);
    host(&admin, "web", &[("a.txt", &small), ("long.txt", &long)]).await;

    for _ in 0..2 {
        assert!(admin.get("/apps/web/long.txt").await.text == long);
        assert!(admin.get("/apps/web/a.txt").await.text == small);
    }
}

#[tokio::test]
async fn media_type_follows_from_the_name_and_is_never_guessed_by_browsers() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let types = [
        ("index.html", "text/html;charset=utf-8"),
        ("a.js", "text/javascript;charset=utf-8"),
        ("a.mjs", "text/javascript;charset=utf-8"),
        ("a.css", "text/css;charset=utf-8"),
        ("a.json", "application/json;charset=utf-8"),
        ("a.svg", "image/svg+xml;charset=utf-8"),
        ("a.txt", "text/plain;charset=utf-8"),
        ("a.png", "image/png"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.gz", "application/gzip"),
        ("A.PNG", "image/png"),
        ("unknown.zebra7", "application/octet-stream"),
        ("none", "application/octet-stream"),
    ];
    let files: Vec<_> =
        types.iter().filter(|(name, _)| *name != "A.PNG").map(|(name, _)| (*name, "x")).collect();
    host(&admin, "web", &files).await;
    host(&admin, "upper", &[("A.PNG", "x")]).await;

    for (name, media_type) in types {
        let application = if name == "A.PNG" { "upper" } else { "web" };
        let answer = admin.get(&format!("/apps/{application}/{name}")).await.expect(200);
        assert_eq!(answer.header("Content-Type"), Some(media_type), "{name}");
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{name}");
    }
}

#[tokio::test]
async fn directory_with_an_index_shows_it_and_without_one_is_404() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let files =
        [("index.html", "root"), ("docs/index.html", "docs"), ("docs/sub/a.txt", "a"), ("img/b.txt", "b")];
    host(&admin, "web", &files).await;

    for (path, content) in [
        ("/apps/web/", "root"),
        ("/apps/web//", "root"),
        ("/apps/web/index.html", "root"),
        ("/apps/web/docs/", "docs"),
        ("/apps/web//docs//", "docs"),
        ("/apps/web/docs/index.html", "docs"),
        ("//apps/web/docs/sub/a.txt", "a"),
    ] {
        let answer = admin.get(path).await;
        assert_eq!((answer.status, &*answer.text), (200, content), "{path}");
    }
    for path in
        ["/apps/web/docs/sub/", "/apps/web/docs/sub", "/apps/web/img", "/apps/web/img/", "/apps/web/doc"]
    {
        let answer = admin.get(path).await.expect_error(404, "general/Not Found");
        assert!(!answer.text.contains("a.txt"), "{}", answer.text);
    }
}

#[tokio::test]
async fn directory_without_its_slash_is_redirected_so_that_links_in_its_page_work() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("docs/index.html", "docs"), ("a b/index.html", "blank")]).await;

    for (path, location) in [
        ("/apps/web", "/apps/web/"),
        ("/apps/web?x=1&y=%2F", "/apps/web/?x=1&y=%2F"),
        ("//apps//web", "/apps/web/"),
        ("/apps/web/docs", "/apps/web/docs/"),
        ("/apps/web/a%20b", "/apps/web/a%20b/"),
    ] {
        let answer = admin.get(path).await;
        assert_eq!((answer.status, answer.header("Location")), (301, Some(location)), "{path}");
        assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"), "{path}");
    }
}

#[tokio::test]
async fn names_in_a_path_are_percent_decoded_once() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let files =
        [("a b+c.txt", "blank"), ("ä/ö.txt", "umlauts"), ("100%.txt", "percent"), ("%41.txt", "literal")];
    host(&admin, "web", &files).await;

    for (path, content) in [
        ("a%20b+c.txt", "blank"),
        ("a%20b%2Bc.txt", "blank"),
        ("%C3%A4/%C3%B6.txt", "umlauts"),
        ("100%25.txt", "percent"),
        ("%2541.txt", "literal"),
    ] {
        let answer = admin.get(&format!("/apps/web/{path}")).await;
        assert_eq!((answer.status, &*answer.text), (200, content), "{path}");
    }
}

#[tokio::test]
async fn path_leads_nowhere_else() {
    let (server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "a")]).await;
    host(&admin, "other", &[("secret.txt", "secret")]).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());

    // No client library sends these paths unchanged.
    for path in [
        "/apps/web/../other/secret.txt",
        "/apps/web/..%2Fother/secret.txt",
        "/apps/web/%2e%2e/other/secret.txt",
        "/apps/web/..%5Cother%5Csecret.txt",
        "/apps/web/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "/apps/web/a.txt%00",
        "/apps/web/%FF",
        "/apps/%00/a.txt",
        "/apps/%2e%2e/web/a.txt",
        "/apps/we%62/A.txt",
        &format!("/apps/web/{}", "x".repeat(3000)),
    ] {
        let mut connection = RawConnection::open(server.address()).await;
        connection.request(&[&format!("GET {path} HTTP/1.1"), "Host: x", &authorization], "").await;
        let answer = connection.read_until("\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (server, admin) = TestServer::start().await.with_admin();
    let long = "x".repeat(600_000);
    host(&admin, "web", &[("long.txt", &long)]).await;
    let mut connection = RawConnection::open(server.address()).await;
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());

    connection.request(&["HEAD /apps/web/long.txt HTTP/1.1", "Host: x", &authorization], "").await;
    let head = connection.read_until("\r\n\r\n").await;
    // If the response had a body, it would precede the next response.
    connection.request(&["GET /apps/web/nothing HTTP/1.1", "Host: x", &authorization], "").await;
    let next = connection.read_until("\r\n\r\n").await;

    let get = admin.get("/apps/web/long.txt").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    for name in ["content-length", "content-type", "etag", "cache-control", "vary", "accept-ranges"] {
        let line = format!("{name}: {}\r\n", get.header(name).unwrap());
        assert!(head.to_lowercase().contains(&line.to_lowercase()), "{name}: {head}");
    }
    assert!(next.starts_with("HTTP/1.1 404"), "{next}");
}

#[tokio::test]
async fn nothing_is_changed_through_what_is_served() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.txt", "a")]).await;

    for method in ["POST", "PUT", "DELETE"] {
        for path in ["/apps/web", "/apps/web/a.txt"] {
            let answer = admin.request(method, path).send().await;
            assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET,HEAD")), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn application_without_a_version_has_no_files() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = create(&admin, "web", "PRIVATE").await;

    assert_eq!(admin.get("/apps/web/").await.status, 404);
    assert_eq!(admin.get("/apps/web/index.html").await.status, 404);
    upload(&admin, &id, &web_archive(&[])).await;
    assert_eq!(admin.get("/apps/web/").await.status, 200);
}
