//! Registration requests and device credentials (N-01 to N-09).

mod bootstrap;
mod credentials;
mod groups;
mod ids;
mod lost_answer;
mod races;
mod rate_limit;
mod requests;
mod restart;
mod status;
mod tenants;

use crate::harness::prelude::*;

const REQUESTS: &str = "/devicecontrol/newDeviceRequests";
const CREDENTIALS: &str = "/devicecontrol/deviceCredentials";

/// The user that devices without credentials share.
fn bootstrap(server: &TestServer) -> Caller {
    server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD)
}

/// Requests the credentials of a device.
async fn poll(server: &TestServer, id: &str) -> Response {
    bootstrap(server).post(CREDENTIALS, &json!({"id": id})).await
}

async fn register(server: &TestServer, id: &str) -> Value {
    server.admin().create(REQUESTS, &json!({"id": id})).await
}

/// A server with a request of this id.
async fn with_request(id: &str) -> TestServer {
    let server = TestServer::start().await;
    register(&server, id).await;
    server
}

/// A server with an accepted request of this id.
async fn with_accepted(id: &str) -> TestServer {
    let server = with_request(id).await;
    accept(&server, id).await;
    server
}

/// The address of a request whose id needs no encoding.
fn request_of(id: &str) -> String {
    format!("{REQUESTS}/{id}")
}

async fn accept(server: &TestServer, id: &str) {
    server.admin().put(&request_of(id), &json!({"status": "ACCEPTED"})).await.expect(200);
}

/// Registers and accepts a device, polls for it and returns its password.
async fn admit(server: &TestServer, id: &str) -> String {
    register(server, id).await;
    accept(server, id).await;
    password(&poll(server, id).await)
}

/// Returns the password in a response.
fn password(answer: &Response) -> String {
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["password"].as_str().unwrap().to_owned()
}

/// A device of tenant `main` with this password.
fn device(server: &TestServer, id: &str, password: &str) -> Caller {
    server.caller(&format!("main/device_{id}"), password)
}

/// Returns whether a caller can log in.
async fn gets_in(caller: &Caller) -> bool {
    match caller.get("/tenant/currentTenant").await.status {
        200 => true,
        401 => false,
        other => panic!("{other} for a log-in"),
    }
}

/// Makes all requests so old that their credentials can no longer be collected.
async fn let_time_pass(server: &TestServer) {
    let statement =
        "UPDATE new_device_requests SET credentials_until = now() WHERE credentials_until IS NOT NULL";
    assert_ne!(server.database().execute(statement, &[]).await, 0);
}
