//! Files that an application provides in compressed form.

use super::*;

const FILES: [(&str, &str); 6] = [
    ("a.js", "plain"),
    ("a.js.gz", "packed by gzip"),
    ("a.js.br", "packed by br"),
    ("index.html", "page"),
    ("index.html.gz", "packed page"),
    ("lone.css.gz", "without its original"),
];

#[tokio::test]
async fn packed_form_is_sent_to_clients_that_accept_it() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &FILES).await;

    for (path, accepted, content, encoding) in [
        ("a.js", "identity", "plain", None),
        ("a.js", "gzip", "packed by gzip", Some("gzip")),
        ("a.js", "gzip, deflate, br, zstd", "packed by br", Some("br")),
        ("a.js", "br;q=0.3, gzip;q=0.9", "packed by gzip", Some("gzip")),
        ("a.js", "br;q=0, gzip;q=0", "plain", None),
        ("", "gzip, br", "packed page", Some("gzip")),
        ("index.html", "br", "page", None),
    ] {
        let answer = get_with(&admin, &format!("/apps/web/{path}"), &[("Accept-Encoding", accepted)]).await;
        assert_eq!((answer.status, &*answer.text), (200, content), "{path} {accepted}");
        assert_eq!(answer.header("Content-Encoding"), encoding, "{path} {accepted}");
        let media_type = if path == "a.js" { "text/javascript" } else { "text/html" };
        assert!(answer.header("Content-Type").unwrap().starts_with(media_type), "{path} {accepted}");
        assert!(answer.header("Vary").unwrap().contains("Accept-Encoding"), "{path} {accepted}");
    }
}

#[tokio::test]
async fn packed_file_is_a_file_of_its_own_too() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &FILES).await;

    let packed = admin.get("/apps/web/a.js.gz").await;
    let original = get_with(&admin, "/apps/web/lone.css", &[("Accept-Encoding", "gzip")]).await;

    assert_eq!((packed.status, packed.header("Content-Encoding")), (200, None));
    assert_eq!(packed.header("Content-Type"), Some("application/gzip"));
    assert_eq!(original.status, 404);
}

#[tokio::test]
async fn each_form_has_an_entity_tag_of_its_own() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &FILES).await;
    let tag_of = async |accepted| {
        let answer = get_with(&admin, "/apps/web/a.js", &[("Accept-Encoding", accepted)]).await;
        answer.header("ETag").unwrap().to_owned()
    };

    let (plain, gzip, brotli) = (tag_of("identity").await, tag_of("gzip").await, tag_of("br").await);
    let other_form = [("Accept-Encoding", "br"), ("If-None-Match", &*gzip)];
    let own_form = [("Accept-Encoding", "gzip"), ("If-None-Match", &*gzip)];

    assert!(plain != gzip && gzip != brotli && plain != brotli);
    assert_eq!(get_with(&admin, "/apps/web/a.js", &other_form).await.status, 200);
    assert_eq!(get_with(&admin, "/apps/web/a.js", &own_form).await.status, 304);
}
