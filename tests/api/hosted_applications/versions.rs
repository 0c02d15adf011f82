//! A new version is served at once by this server and soon by others, and no request fails meanwhile.

use super::*;

#[tokio::test]
async fn other_server_serves_the_new_version_soon_and_never_fails_meanwhile() {
    let server = TestServer::start().await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let (admin, there) = (server.admin(), other.admin());
    let id = host(&admin, "web", &[("index.html", "version 0")]).await;
    assert_eq!(there.get("/apps/web/").await.text, "version 0");

    for n in 1..4 {
        let text = format!("version {n}");
        // The new version has other file names, so that cached paths of the old one would not be found.
        let files = [Entry::stored("index.html", &text), Entry::stored(format!("{n}.txt"), &text)];
        assert_eq!(upload(&admin, &id, &archive(&files)).await.status, 204);

        assert_eq!(there.get(&format!("/apps/web/{n}.txt")).await.text, text);
        until("the new version", async || {
            let answer = there.get("/apps/web/").await.expect(200);
            answer.text == text
        })
        .await;
        assert_eq!(admin.get("/apps/web/").await.text, text);
    }
}

#[tokio::test]
async fn server_that_kept_nothing_of_a_version_that_has_gone_serves_the_new_one() {
    let server = TestServer::start().await;
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let there = other.admin();
    let id = host(&server.admin(), "web", &[("a.txt", "old"), ("b.txt", "old")]).await;
    // The other server caches the application, but not this file.
    assert_eq!(there.get("/apps/web/nothing").await.status, 404);

    upload(
        &server.admin(),
        &id,
        &archive(&[Entry::stored("index.html", "x"), Entry::stored("b.txt", "new")]),
    )
    .await;

    assert_eq!(there.get("/apps/web/b.txt").await.text, "new");
}
