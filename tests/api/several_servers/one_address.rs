//! The documented configuration of HAProxy for several deployments (docs/deploy/haproxy-deployments.cfg): it leads
//! requests to the deployment of their tenant, also after the tenant has moved (Z-22).

use std::collections::BTreeSet;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::balancer::{Balancer, documented, find_haproxy};
use super::*;
use crate::harness::tenants::create_tenant;

const DOMAIN: &str = "plant-acme.example.com";
const OWN: &str = "/user/currentUser";
const WRITERS: usize = 3;

/// Two deployments of one server each, behind HAProxy.
struct Deployments {
    north: TestServer,
    south: TestServer,
    balancer: Balancer,
    directory: TempDir,
}

impl Deployments {
    /// Starts them. The map leads tenant `acme` to the deployment of this name.
    async fn start(haproxy: &str, acme_at: &str) -> Self {
        let (north, south) = (TestServer::start().await, TestServer::start().await);
        let directory = scratch();
        let map = directory.path().join("tenants.map");
        std::fs::write(&map, format!("acme {acme_at}\n{DOMAIN} {acme_at}\n")).unwrap();
        let nobody = || format!("127.0.0.1:{}", free_port());
        let text = documented("docs/deploy/haproxy-deployments.cfg")
            .replace("/etc/haproxy/tenants.map", map.to_str().unwrap())
            .replace("/run/haproxy/", &format!("{}/", directory.path().display()))
            .replace("north1:8080", &north.address().to_string())
            .replace("south1:8080", &south.address().to_string())
            .replace("north2:8080", &nobody())
            .replace("south2:8080", &nobody());
        let balancer = Balancer::run(haproxy, directory.path(), &text);
        let (visitor, deployments) =
            (Caller::new(&balancer.base, None), Self { north, south, balancer, directory });
        until("the balancer", async || {
            let response = visitor.request("GET", OWN).try_send().await;
            response.is_some_and(|response| response.status == 401)
        })
        .await;
        deployments
    }

    fn caller(&self, user: &str) -> Caller {
        Caller::new(&self.balancer.base, Some((user, ADMIN_PASSWORD)))
    }

    /// Leads the tenant to another deployment, as the guide says.
    async fn lead_acme_to(&self, deployment: &str) {
        let map: PathBuf = self.directory.path().join("tenants.map");
        for key in ["acme", DOMAIN] {
            let mut socket = UnixStream::connect(self.directory.path().join("admin.sock")).await.unwrap();
            let line = format!("set map {} {key} {deployment}\n", map.display());
            socket.write_all(line.as_bytes()).await.unwrap();
            let mut response = String::new();
            socket.read_to_string(&mut response).await.unwrap();
            assert_eq!(response.trim(), "");
        }
    }
}

#[tokio::test]
async fn credentials_and_else_the_domain_lead_to_the_deployment_of_the_tenant() {
    let Some(haproxy) = find_haproxy() else { return };
    let deployments = Deployments::start(haproxy, "south").await;
    create_tenant(&deployments.south, "acme").await;
    let visitor = Caller::new(&deployments.balancer.base, None);
    let basic = |user: &str| format!("Basic {}", STANDARD.encode(format!("{user}:{ADMIN_PASSWORD}")));
    let named =
        |tenant: &str| format!("Bearer h.{}.s", URL_SAFE_NO_PAD.encode(format!("{{\"aud\":\"{tenant}\"}}")));
    let slash = format!("Basic {}", STANDARD.encode("boss:acme/boss"));
    let lower = basic("acme/boss").replace("Basic", "basic");

    for (host, authorization, server, status) in [
        ("any.example.com", "", "north1", 401),
        ("any.example.com", &*basic("main/admin"), "north1", 200),
        ("any.example.com", &slash, "north1", 401),
        ("any.example.com", &named("main"), "north1", 401),
        ("any.example.com", &basic("acme/boss"), "south1", 200),
        ("any.example.com", &lower, "south1", 200),
        ("any.example.com", &named("acme"), "south1", 401),
        (DOMAIN, "", "south1", 401),
        (DOMAIN, &basic("boss"), "south1", 200),
        (DOMAIN, "Bearer opaque", "south1", 401),
        ("PLANT-ACME.example.com:8080", &basic("boss"), "south1", 200),
        (DOMAIN, &basic("management/devicebootstrap"), "south1", 401),
        (DOMAIN, &basic("management/admin"), "south1", 200),
    ] {
        let mut request = visitor.request("GET", OWN).header("Host", host);
        if !authorization.is_empty() {
            request = request.header("Authorization", authorization);
        }
        let response = request.send().await;
        let served = (response.header("X-Served-By").unwrap(), response.status);
        assert_eq!(served, (server, status), "{host} {authorization}: {}", response.text);
    }
}

/// Raises alarms until `stop` is sent, and repeats those that are rejected with 503. Returns the types of those that
/// were acknowledged.
async fn raise_until(
    boss: Caller,
    device: String,
    writer: usize,
    stop: tokio::sync::watch::Receiver<bool>,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    while !*stop.borrow() {
        let kind = format!("{writer}.{}", acknowledged.len());
        let response = boss.post(ALARMS, &alarm_of(&device, &kind)).await;
        match response.status {
            201 => acknowledged.push(kind),
            503 => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => panic!("{} {}", response.status, response.text),
        }
    }
    acknowledged
}

#[tokio::test]
async fn tenant_that_moves_is_led_to_its_new_deployment_by_a_change_of_the_map() {
    let Some(haproxy) = find_haproxy() else { return };
    let deployments = Deployments::start(haproxy, "north").await;
    create_tenant(&deployments.north, "acme").await;
    let boss = deployments.caller("acme/boss");
    let device = boss.create_device("pump").await;
    let session = boss.listen("/alarms/*").await;
    let (mut socket, client) = Socket::listen(&boss, "/events/*").await;
    socket.send(json!([connect(&client)]).to_string()).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(raise_until(boss.clone(), device.clone(), writer, stopped.clone())))
        .collect();

    let mut command = Program::command_on(deployments.north.database(), deployments.directory.path());
    command.args(["admin", "tenant", "move", "acme", "--to", deployments.south.database().url()]);
    let moved = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));

    // The client connects again, so that the balancer leads it to the other deployment.
    assert_eq!(socket.message().await["successful"], false);
    socket.send(json!([handshake(json!({}))]).to_string()).await;
    assert_eq!(socket.closed().await, Some(1013));
    let response = boss.bayeux(REALTIME, &json!([session.message("/meta/connect", json!({}))])).await;
    assert_eq!((response.status, response.header("X-Served-By")), (503, Some("north1")), "{}", response.text);

    deployments.lead_acme_to("south").await;
    let response = boss.get(OWN).await.expect(200);
    assert_eq!(response.header("X-Served-By"), Some("south1"));
    let session = boss.listen("/events/*").await;
    let held = session.hold().await;
    boss.create_event(&device, "door").await;
    assert_eq!(held.answer().await[0]["data"]["data"]["type"], "door");
    Socket::listen(&boss, "/events/*").await;
    stop.send(true).unwrap();
    let mut acknowledged = BTreeSet::new();
    for writer in writers {
        acknowledged.extend(soon("the end of a writer", writer).await.unwrap());
    }
    let pages = boss.pages(&format!("{ALARMS}?pageSize=2000")).await;
    let stored: BTreeSet<_> = pages.iter().flat_map(|page| member_texts(page, "alarms", "type")).collect();
    assert!(!stored.is_empty());
    assert_eq!(stored, acknowledged);
}
