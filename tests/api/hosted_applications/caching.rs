//! Entity tags and headers for caches.

use super::*;

#[tokio::test]
async fn entity_tag_is_strong_and_differs_between_contents() {
    let (_server, admin) = TestServer::start().await.with_admin();
    let id = host(&admin, "web", &[("a.txt", "one"), ("b.txt", "one"), ("c.txt", "two")]).await;
    let tag = async |path: &str| admin.get(path).await.header("ETag").unwrap().to_owned();

    let (one, same, two) =
        (tag("/apps/web/a.txt").await, tag("/apps/web/b.txt").await, tag("/apps/web/c.txt").await);
    upload(&admin, &id, &web_archive(&[("a.txt", "changed"), ("b.txt", "one")])).await;

    assert!(one.starts_with('"') && one.ends_with('"') && one.len() > 20, "{one}");
    assert!(one == same && one != two);
    assert_ne!(tag("/apps/web/a.txt").await, one);
    assert_eq!(tag("/apps/web/b.txt").await, same);
}

#[tokio::test]
async fn client_that_has_the_file_gets_304_without_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    host(&admin, "web", &[("a.txt", "hello")]).await;
    let first = admin.get("/apps/web/a.txt").await;
    let tag = first.header("ETag").unwrap().to_owned();

    for given in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        let answer = get_with(&admin, "/apps/web/a.txt", &[("If-None-Match", &given)]).await;
        assert_eq!((answer.status, &*answer.text), (304, ""), "{given}");
        for name in ["ETag", "Cache-Control", "Vary", "Content-Security-Policy"] {
            assert_eq!(answer.header(name), first.header(name), "{given}: {name}");
        }
    }
    for given in ["\"x\"", "x", ""] {
        let answer = get_with(&admin, "/apps/web/a.txt", &[("If-None-Match", given)]).await;
        assert_eq!((answer.status, &*answer.text), (200, "hello"), "{given}");
    }
}

#[tokio::test]
async fn pages_are_asked_for_again_each_time_and_their_parts_after_a_while() {
    let (_server, admin) = TestServer::start().await.with_admin();
    host(&admin, "web", &[("a.js", "x"), ("docs/index.html", "x")]).await;

    for (path, caching) in [
        ("/apps/web/", "private, no-cache"),
        ("/apps/web/index.html", "private, no-cache"),
        ("/apps/web/docs/", "private, no-cache"),
        ("/apps/web/a.js", "private, max-age=300, must-revalidate"),
    ] {
        assert_eq!(admin.get(path).await.header("Cache-Control"), Some(caching), "{path}");
    }
}
