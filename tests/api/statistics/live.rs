//! The current activity of tenants.

use super::*;
use crate::harness::tenants::{create_tenant, management};

const LIVE: &str = "/tenant/statistics/live";

async fn of(caller: &Caller, tenant: &str) -> Option<Value> {
    let live = caller.read(LIVE).await;
    live["tenants"].as_array().unwrap().iter().find(|live| live["tenantId"] == tenant).cloned()
}

#[tokio::test]
async fn polls_sockets_queues_and_rates_are_those_of_all_servers() {
    let database = TestDatabase::create().await;
    let servers =
        [TestServer::start_on(&database, eager).await, TestServer::start_on(&database, eager).await];
    let admins = servers.each_ref().map(TestServer::admin);
    let device = admins[0].create_device("pump").await;
    let session = admins[0].session().await;
    let _held = session.hold().await;
    let (_socket, _) = Socket::listen(&admins[1], "/events/*").await;
    let _waiting = admins[1].listen("/alarms/*").await;
    for kind in ["one", "two", "three"] {
        admins[0].raise_alarm(&device, kind).await;
    }

    let wanted =
        [("sessionCount", 3), ("heldPollCount", 1), ("socketCount", 1), ("queuedNotificationCount", 3)];
    let live = eventually("what both servers do", async || {
        let live = of(&admins[1], "main").await?;
        let rates = live["requestsPerSecond"].as_f64()? > 0.0;
        (wanted.iter().all(|(name, count)| live[name] == *count) && rates).then_some(live)
    })
    .await;

    assert_eq!(live["servers"].as_array().unwrap().len(), 2);
    let writing = eventually("writes per second", async || {
        admins[0].create_event(&device, "moved").await;
        of(&admins[0], "main").await.filter(|live| live["writesPerSecond"].as_f64() > Some(0.0))
    });
    assert!(writing.await["deliveriesPerSecond"].is_number());
}

#[tokio::test]
async fn tenants_see_themselves_and_management_sees_all() {
    let server = TestServer::start_with(eager).await;
    let (one, two) = (create_tenant(&server, "one").await, create_tenant(&server, "two").await);
    let sessions = [one.session().await, two.session().await];

    for tenant in ["one", "two"] {
        eventually("a tenant", async || of(&management(&server), tenant).await).await;
    }
    let mine = one.read(LIVE).await;
    let ids: Vec<&Value> = mine["tenants"].as_array().unwrap().iter().map(|live| &live["tenantId"]).collect();
    assert_eq!(ids, ["one"]);
    one.get(&format!("{LIVE}?tenant=two")).await.expect(404);
    let only = management(&server).read(&format!("{LIVE}?tenant=two")).await;
    assert_eq!(only["tenants"][0]["sessionCount"], 1);
    assert_eq!(only["tenants"].as_array().unwrap().len(), 1);
    drop(sessions);
}

#[tokio::test]
async fn metrics_name_the_busiest_tenants_only_if_wanted() {
    let server = TestServer::start_with(|settings| {
        eager(settings);
        settings.limits.metrics_tenants = Some(2);
    })
    .await;
    let mut sessions = Vec::new();
    for (id, count) in [("few", 1), ("most", 6), ("many", 4)] {
        let caller = create_tenant(&server, id).await;
        for _ in 0..count {
            sessions.push(caller.session().await);
        }
    }

    let metrics = eventually("the metrics of the busiest tenants", async || {
        let metrics = server.stranger().get("/metrics").await.text;
        let has = |line: &str| metrics.lines().any(|known| known == line);
        let named = has("platform_tenant_sessions{tenant=\"most\"} 6")
            && has("platform_tenant_sessions{tenant=\"many\"} 4");
        (named && has("platform_tenant_sessions{tenant=\"other.tenants\"} 1")).then_some(metrics)
    })
    .await;

    assert!(!metrics.contains("tenant=\"few\""), "{metrics}");
    assert!(metrics.len() < 100_000, "{} bytes", metrics.len());
    let plain = TestServer::start_with(eager).await;
    let session = plain.admin().session().await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(!plain.stranger().get("/metrics").await.text.contains("tenant="));
    drop((session, json!(null)));
}
