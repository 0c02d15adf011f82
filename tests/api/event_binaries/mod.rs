//! The files of events (docs/rules.md#events; V-03 to V-09).

mod chunks;
mod delete;
mod forms;
mod memory;
mod modes;
mod races;
mod raw;
mod replace;
mod restart;
mod roles;
mod sizes;
mod sweep;

use crate::harness::prelude::*;

/// A server with an event on it.
struct Scene {
    server: TestServer,
    admin: Caller,
    device: String,
    /// Path of the event.
    event: String,
    /// Path of its file.
    path: String,
}

impl Scene {
    /// Id of the event, which is the source of its file (V-03a).
    fn event_id(&self) -> &str {
        self.event.rsplit('/').next().unwrap()
    }

    async fn set() -> Self {
        Self::on(TestServer::shared().await).await
    }

    /// A scene on a server of its own.
    async fn alone() -> Self {
        Self::on(TestServer::start().await).await
    }

    async fn on(server: TestServer) -> Self {
        let admin = server.admin();
        let device = admin.create_device("door").await;
        let event = admin.create_event(&device, "log").await;
        let event = path_of(&event);
        Self { path: format!("{event}/binaries"), server, admin, device, event }
    }

    /// Id of the event.
    fn id(&self) -> &str {
        self.event.rsplit('/').next().unwrap()
    }

    /// Returns the fragments of the event that describe its complete or incomplete file.
    async fn markers(&self) -> (Value, Value) {
        let event = self.admin.read(&self.event).await;
        (event["plat_IsBinary"].clone(), event["plat_IsIncompleteBinary"].clone())
    }
}

fn path_of(event: &Value) -> String {
    format!("/event/events/{}", event["id"].as_str().unwrap())
}

/// POST or PUT of a raw body of type `text/plain`.
async fn send(caller: &Caller, method: &str, path: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = caller.request(method, path).accepting_json().header("Content-Type", "text/plain");
    request.body(body).send().await
}

/// POST of a chunk.
async fn chunk(caller: &Caller, path: &str, range: &str, body: impl Into<Vec<u8>>) -> Response {
    let request = caller.request("POST", path).accepting_json().header("Content-Type", "text/plain");
    request.header("Content-Range", range).body(body).send().await
}

/// The bytes of a file.
async fn download(caller: &Caller, path: &str) -> Vec<u8> {
    let response = caller.request("GET", path).head().await;
    assert_eq!(response.status(), 200, "GET {path}");
    response.bytes().await.unwrap().to_vec()
}

/// Returns bytes that contain every value and in which no two chunks are equal.
fn bytes(length: usize) -> Vec<u8> {
    (0..length as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Waits until no file is stored that belongs to no object or event.
async fn assert_no_leftovers(server: &TestServer) {
    until("uploads that were given up to go", async || {
        let unfinished =
            "SELECT count(*) FROM binaries WHERE tenant = $1 AND object IS NULL AND event IS NULL";
        let count: i64 = server.rows(unfinished, &[]).await[0].get(0);
        count == 0
    })
    .await;
}
