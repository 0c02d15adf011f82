//! Files are deleted alone and with their event.

use super::*;

#[tokio::test]
async fn deleted_file_is_gone_and_its_event_stays() {
    let scene = Scene::set().await;
    send(&scene.admin, "POST", &scene.path, bytes(600_000)).await;

    let answer = scene.admin.delete(&scene.path).await;

    assert_eq!((answer.status, &*answer.text), (204, ""));
    assert_eq!(scene.markers().await, (Value::Null, Value::Null));
    assert_eq!(scene.admin.get(&scene.path).await.status, 404);
    assert_eq!(scene.admin.delete(&scene.path).await.status, 404);
    assert_eq!(scene.server.count("binary_chunks").await, 0);
    assert_eq!(send(&scene.admin, "POST", &scene.path, "anew").await.status, 201);
}

#[tokio::test]
async fn files_go_with_their_event_be_they_complete_or_not() {
    let scene = Scene::set().await;

    for incomplete in [false, true] {
        let event = super::path_of(&scene.admin.create_event(&scene.device, "t").await);
        let path = format!("{event}/binaries");
        if incomplete {
            assert_eq!(chunk(&scene.admin, &path, "0-4/*", "hello").await.status, 200)
        } else {
            assert_eq!(send(&scene.admin, "POST", &path, bytes(600_000)).await.status, 201)
        }
        assert_eq!(scene.admin.delete(&event).await.status, 204);
        assert_eq!(scene.admin.get(&path).await.status, 404);
        for table in ["binaries", "binary_chunks"] {
            assert_eq!(scene.server.count(table).await, 0, "{table}");
        }
    }
}
