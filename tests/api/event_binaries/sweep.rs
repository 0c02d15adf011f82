//! Uploads in chunks that were abandoned.

use super::*;

#[tokio::test]
async fn incomplete_files_of_more_than_a_week_go_when_a_server_starts_and_nothing_else_does() {
    let scene = Scene::alone().await;
    let database = scene.server.shared_database();
    let whole = path_of(&scene.admin.create_event(&scene.device, "whole").await);
    let young = path_of(&scene.admin.create_event(&scene.device, "young").await);
    chunk(&scene.admin, &scene.path, "0-4/*", "hello").await;
    send(&scene.admin, "POST", &format!("{whole}/binaries"), "whole").await;
    database.execute("UPDATE binaries SET created_at = now() - interval '8 days'", &[]).await;
    chunk(&scene.admin, &format!("{young}/binaries"), "0-4/*", "young").await;
    database
        .execute("UPDATE binaries SET created_at = now() - interval '6 days' WHERE created_at > now() - interval '1 \
            day'", &[])
        .await;

    let other = TestServer::start_on(&database, |_| {}).await;

    until("the event to tell of no file", async || scene.markers().await.1.is_null()).await;
    assert_eq!(database.count("binaries").await, 2);
    let young = other.admin().read(&young).await;
    assert_eq!(young["plat_IsIncompleteBinary"], json!({"range": "0-4/*"}));
    assert_eq!(download(&other.admin(), &format!("{whole}/binaries")).await, b"whole");
}

#[tokio::test]
async fn next_chunk_keeps_an_old_upload() {
    let scene = Scene::alone().await;
    let database = scene.server.shared_database();
    chunk(&scene.admin, &scene.path, "0-4/*", "hello").await;
    database.execute("UPDATE binaries SET created_at = now() - interval '8 days'", &[]).await;

    assert_eq!(chunk(&scene.admin, &scene.path, "5-9/*", "world").await.status, 200);

    let old = "SELECT count(*) FROM binaries WHERE created_at < now() - interval '1 day'";
    assert_eq!(database.query(old, &[]).await[0].get::<_, i64>(0), 0);
}
