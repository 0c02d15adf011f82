//! Processing modes of files of events (M-01 to M-03).

use super::*;

async fn send(scene: &Scene, method: &str, mode: &str) -> Response {
    let request =
        scene.admin.request(method, &scene.path).accepting_json().header("Content-Type", "text/plain");
    request.header("X-Platform-Processing-Mode", mode).body("hello").send().await
}

#[tokio::test]
async fn transient_and_cep_files_are_returned_and_not_stored() {
    let scene = Scene::set().await;
    let session = scene.admin.listen(&format!("/events/{}", scene.device)).await;

    for mode in ["CEP", "TRANSIENT"] {
        let answer = send(&scene, "POST", mode).await;
        assert_eq!((answer.status, &answer.json()["length"]), (201, &json!(5)));
        assert!(answer.json()["self"].as_str().unwrap().ends_with("/null"), "{}", answer.text);
        assert_eq!(scene.admin.get(&scene.path).await.status, 404);
        assert_eq!(scene.markers().await, (Value::Null, Value::Null));
    }
    super::assert_no_leftovers(&scene.server).await;

    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["data"]["plat_IsBinary"]["length"], 5);
}

#[tokio::test]
async fn quiescent_files_are_stored_replaced_and_deleted_without_notifications() {
    let scene = Scene::set().await;
    let session = scene.admin.listen(&format!("/events/{}", scene.device)).await;

    for (method, status) in [("POST", 201), ("PUT", 201), ("DELETE", 204)] {
        assert_eq!(send(&scene, method, "QUIESCENT").await.status, status, "{method}");
    }
    assert_eq!(scene.admin.get(&scene.path).await.status, 404);
    assert_eq!(send(&scene, "POST", "whatever").await.status, 422);
    assert_eq!(send(&scene, "POST", "PERSISTENT").await.status, 201);

    let told = session.receive(1).await;
    assert_eq!(told[0]["data"]["data"]["plat_IsBinary"]["length"], 5);
}
