//! An orderly stop: readiness becomes 503 before connections end, so that load balancers can react.

use super::*;

#[tokio::test]
async fn stop_makes_readiness_503_first_and_serves_meanwhile() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |settings| settings.drain = Duration::from_secs(3)).await;
    let (stranger, admin) = (server.stranger(), server.admin());
    assert_eq!(stranger.get("/health/ready").await.status, 200);

    let stopping = tokio::spawn(server.stop());

    until("unreadiness", async || stranger.get("/health/ready").await.status == 503).await;
    admin.create_device("pump").await;
    let state = &database.query("SELECT state FROM servers WHERE leased_until > now()", &[]).await[0];
    assert_eq!(state.get::<_, &str>(0), "STOPPING", "others see it");
    stopping.await.unwrap();
    assert_eq!(slots(&database).await, [0; 0]);
}
