//! PUT replaces the file of an event.

use super::*;

#[tokio::test]
async fn put_replaces_bytes_and_type_and_keeps_the_name() {
    let scene = Scene::set().await;
    let form =
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.log\"\r\n\r\nfirst\r\n--b--\r\n";
    let request =
        scene.admin.request("POST", &scene.path).header("Content-Type", "multipart/form-data; boundary=b");
    assert_eq!(request.body(form).send().await.status, 201);

    let answer = send(&scene.admin, "PUT", &scene.path, bytes(300_000)).await;

    let link = format!("{}{}", scene.server.base(), scene.path);
    let expected = json!({"self": link, "type": "text/plain", "name": "a.log", "source": scene.event_id(),
        "length": 300_000});
    assert_eq!((answer.status, answer.json(), answer.header("Location")), (201, expected, Some(&*link)));
    assert_eq!(scene.markers().await.0, json!({"type": "text/plain", "name": "a.log", "length": 300_000}));
    assert!(download(&scene.admin, &scene.path).await == bytes(300_000));
    assert_eq!(scene.server.count("binaries").await, 1);
    assert_eq!(scene.server.count("binary_chunks").await, 2);
    assert_no_leftovers(&scene.server).await;
}

#[tokio::test]
async fn put_where_no_file_is_stores_none() {
    let scene = Scene::set().await;

    assert_eq!(send(&scene.admin, "PUT", &scene.path, "x").await.status, 404);

    assert_eq!(scene.server.count("binaries").await, 0);
}
