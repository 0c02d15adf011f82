//! Concurrent uploads at two servers on one database.

use super::*;

async fn two_servers() -> (Scene, TestServer, [Caller; 2]) {
    let database = TestDatabase::create().await;
    let other = TestServer::start_on(&database, |_| {}).await;
    let scene = Scene::on(TestServer::start_on(&database, |_| {}).await).await;
    let callers = [scene.admin.clone(), other.admin()];
    (scene, other, callers)
}

#[tokio::test]
async fn of_two_files_at_once_one_is_stored_and_the_other_is_409() {
    let (scene, _other, callers) = two_servers().await;

    for _ in 0..5 {
        let posts: Vec<_> = (0..6_u8)
            .map(|n| {
                let (caller, path) = (callers[usize::from(n) % 2].clone(), scene.path.clone());
                tokio::spawn(
                    async move { send(&caller, "POST", &path, vec![b'a' + n; 300_000]).await.status },
                )
            })
            .collect();
        let mut stored = 0;
        for post in posts {
            let status = post.await.unwrap();
            assert!([201, 409].contains(&status), "{status}");
            stored += usize::from(status == 201);
        }
        let content = download(&callers[0], &scene.path).await;
        assert_eq!(stored, 1);
        assert!(content.len() == 300_000 && content.iter().all(|byte| *byte == content[0]), "no mixture");
        assert_eq!(callers[1].delete(&scene.path).await.status, 204);
    }
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binary_chunks").await, 0);
}

#[tokio::test]
async fn same_chunk_twice_at_once_is_taken_once() {
    let (scene, _other, callers) = two_servers().await;
    assert_eq!(chunk(&callers[0], &scene.path, "0-2/*", "abc").await.status, 200);

    for n in 1..8 {
        let (range, byte) = (format!("{}-{}/*", 3 * n, 3 * n + 2), b'a' + n);
        let posts: Vec<_> = callers
            .iter()
            .cloned()
            .map(|caller| {
                let (path, range) = (scene.path.clone(), range.clone());
                tokio::spawn(async move { chunk(&caller, &path, &range, vec![byte; 3]).await.status })
            })
            .collect();
        let mut statuses = Vec::new();
        for post in posts {
            statuses.push(post.await.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422], "{range}");
    }
    assert_eq!(chunk(&callers[1], &scene.path, "24-24/25", "z").await.status, 201);

    assert_eq!(download(&callers[0], &scene.path).await, b"abcbbbcccdddeeefffggghhhz");
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn replacements_at_once_leave_one_whole_file_that_the_event_describes() {
    let (scene, _other, callers) = two_servers().await;
    send(&scene.admin, "POST", &scene.path, "first").await;

    let puts: Vec<_> = (0..6_u8)
        .map(|n| {
            let (caller, path) = (callers[usize::from(n) % 2].clone(), scene.path.clone());
            let body = vec![b'a' + n; 300_000 + usize::from(n)];
            tokio::spawn(async move { send(&caller, "PUT", &path, body).await })
        })
        .collect();
    for put in puts {
        let answer = put.await.unwrap();
        assert!([201, 409].contains(&answer.status), "{}", answer.text);
    }

    let content = download(&callers[0], &scene.path).await;
    assert!(content.iter().all(|byte| *byte == content[0]), "no mixture");
    assert_eq!(scene.markers().await.0["length"], content.len());
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binaries").await, 1);
}

#[tokio::test]
async fn file_and_text_that_change_at_once_are_both_changed() {
    let (scene, _other, callers) = two_servers().await;

    for n in 0..5 {
        let (caller, path) = (callers[0].clone(), scene.path.clone());
        let post = tokio::spawn(async move { send(&caller, "POST", &path, "hello").await.status });
        let text = serde_json::json!({"text": format!("text {n}")});
        let put = callers[1].put(&scene.event, &text).await.status;
        assert_eq!((post.await.unwrap(), put), (201, 200));
        let event = scene.admin.read(&scene.event).await;
        assert_eq!(
            (&event["text"], &event["plat_IsBinary"]["length"]),
            (&text["text"], &serde_json::json!(5))
        );
        assert_eq!(scene.admin.delete(&scene.path).await.status, 204);
    }
}

#[tokio::test]
async fn upload_that_races_the_deletion_of_its_event_is_201_or_404_and_leaves_nothing() {
    let (scene, _other, callers) = two_servers().await;

    for _ in 0..5 {
        let event = super::path_of(&scene.admin.create_event(&scene.device, "t").await);
        let (caller, path) = (callers[0].clone(), format!("{event}/binaries"));
        let post =
            tokio::spawn(async move { send(&caller, "POST", &path, vec![b'x'; 300_000]).await.status });
        assert_eq!(callers[1].delete(&event).await.status, 204);
        let status = post.await.unwrap();
        assert!([201, 404].contains(&status), "{status}");
    }
    assert_no_leftovers(&scene.server).await;
    assert_eq!(scene.server.count("binary_chunks").await, 0);
}
