//! Agents receive operations that were created at another server.

use super::*;
use crate::harness::operations::{create_agent, create_below, queue};

#[tokio::test]
async fn agent_receives_an_operation_that_another_server_queued() {
    let [a, b] = TestServer::start_two().await;
    let agent = create_agent(&a.admin(), "gateway").await;
    let device = create_below(&a.admin(), &agent, "sensor").await;
    let session = b.admin().session().await.on("/notification/operations");
    let subscribed = session.subscribe(&format!("/{agent}")).await;
    assert_eq!(subscribed["successful"], json!(true));

    let operation = queue(&a.admin(), &device).await;

    let [received] = &session.receive(1).await[..] else { panic!("one notification") };
    assert_eq!(received["data"]["id"], operation["id"]);
    assert_eq!(received["data"]["deviceName"], "sensor");
}
