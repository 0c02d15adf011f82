//! A tenant that was carried over works as before, at servers that ran meanwhile.

use super::*;
use crate::harness::modules::{deploy, marking, measure, status};
use crate::harness::operations::{OPERATIONS, create_agent, id_of, place_below, queue};
use crate::harness::tenants::{TENANTS, create_tenant, management};

const CREDENTIALS: &str = "/devicecontrol/deviceCredentials";
const REQUESTS: &str = "/devicecontrol/newDeviceRequests";
pub(super) const CONSUMER: &str = "/notification/consumers/reader";
const BINARIES: &str = "/inventory/binaries";

/// The content of tenant `acme` before it is carried over.
pub(super) struct Acme {
    agent: String,
    pub(super) pump: String,
    device_password: String,
    file: String,
    operation: Value,
    module: Value,
    pub(super) position: i64,
}

impl Acme {
    /// Fills the tenant over REST.
    pub(super) async fn fill(server: &TestServer, boss: &Caller) -> Self {
        let agent = create_agent(boss, "agent").await;
        let pump = boss.create_device("pump").await;
        place_below(boss, &agent, &pump).await;
        let group = json!({"name": "pumps", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
        let group = boss.create(OBJECTS, &group).await;
        let members = format!("{OBJECTS}/{}/childAssets", group["id"].as_str().unwrap());
        boss.post(&members, &json!({"managedObject": {"id": pump}})).await.expect(201);
        let serial = json!({"type": "serial", "externalId": "P 7/ü"});
        boss.create(&format!("/identity/globalIds/{pump}/externalIds"), &serial).await;
        let consumer = json!({"name": "reader", "channels": ["/alarms/*"]});
        boss.create("/notification/consumers", &consumer).await;
        let module = deploy(boss, &marking("marker", "marked")).await;
        until("the module", async || status(boss, &module).await == "DEPLOYED").await;
        boss.raise_alarm(&pump, "read").await;
        let read = boss.read(&format!("{CONSUMER}/notifications?wait=5")).await;
        let position = read["position"].as_i64().unwrap();
        boss.read(&format!("{CONSUMER}/notifications?wait=0&acknowledge={position}")).await;
        boss.raise_alarm(&pump, "unread").await;
        boss.create_event(&pump, "door").await;
        boss.create(
            "/tenant/options",
            &json!({"category": "mail", "key": "credentials.password", "value": "s"}),
        )
        .await;
        boss.create("/retention/retentions", &json!({"dataType": "ALARM", "maximumAge": 30})).await;
        let joe = json!({"userName": "joe", "email": "joe@example.com", "password": "joes-secret"});
        boss.create("/user/acme/users", &joe).await;
        let crew = boss.create("/user/acme/groups", &json!({"name": "crew"})).await;
        let members = format!("/user/acme/groups/{}/users", crew["id"]);
        boss.post(&members, &json!({"user": {"self": "/user/acme/users/joe"}})).await.expect(201);
        Self {
            device_password: register(server, boss, "sn-7").await,
            file: upload_file(boss).await,
            operation: queue(boss, &agent).await,
            module,
            position,
            agent,
            pump,
        }
    }

    /// Returns what the tenant shows, without the address of the server.
    pub(super) async fn lists(&self, boss: &Caller) -> Vec<String> {
        let mut lists = Vec::new();
        for path in [
            &format!("{OBJECTS}?pageSize=100"),
            &format!("{OBJECTS}/{}/childDevices", self.agent),
            &format!("/identity/globalIds/{}/externalIds", self.pump),
            ALARMS,
            EVENTS,
            MEASUREMENTS,
            OPERATIONS,
            "/user/acme/users?pageSize=100",
            "/user/acme/groups?pageSize=100",
            "/tenant/options",
            "/retention/retentions",
            &format!("{BINARIES}/{}", self.file),
        ] {
            let shown = boss.get(path).await.expect(200);
            lists.push(shown.text.replace(boss.base(), ""));
        }
        lists
    }

    /// Checks that devices, people, operations, modules and the consumer go on at a server.
    pub(super) async fn goes_on(&self, server: &TestServer, tenant: &str) {
        let boss = server.caller(&format!("{tenant}/boss"), ADMIN_PASSWORD);
        let device = server.caller(&format!("{tenant}/device_sn-7"), &self.device_password);
        let joined = device.create(OBJECTS, &json!({"name": "sn-7", "plat_IsDevice": {}})).await;
        assert!(joined["id"].as_str().unwrap().parse::<i64>().unwrap() > self.agent.parse().unwrap());
        server.caller(&format!("{tenant}/joe"), "joes-secret").get("/user/currentUser").await.expect(200);
        let option = boss.read("/tenant/options/mail/credentials.password").await;
        assert_ne!(option["value"], Value::Null, "{option}");

        let pending = boss.read(&format!("{OPERATIONS}?agentId={}&status=PENDING", self.agent)).await;
        assert_eq!(ids(&pending, "operations"), [id_of(&self.operation)]);
        let next = queue(&boss, &self.agent).await;
        assert!(id_of(&next).parse::<i64>().unwrap() > id_of(&self.operation).parse().unwrap(), "{next}");
        until("the module", async || status(&boss, &self.module).await == "DEPLOYED").await;
        measure(&boss, &self.pump, 8).await;
        let marked = format!("{EVENTS}?type=marked&source={}", self.pump);
        until("an event of the module", async || !ids(&boss.read(&marked).await, "events").is_empty()).await;
    }
}

/// Registers a device and returns the password that the platform generated for it.
pub(super) async fn register(server: &TestServer, boss: &Caller, id: &str) -> String {
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    boss.create(REQUESTS, &json!({"id": id})).await;
    bootstrap.post(CREDENTIALS, &json!({"id": id})).await;
    boss.put(&format!("{REQUESTS}/{id}"), &json!({"status": "ACCEPTED"})).await.expect(200);
    let credentials = bootstrap.post(CREDENTIALS, &json!({"id": id})).await.expect(201).json();
    credentials["password"].as_str().unwrap().to_owned()
}

/// Stores a file of several chunks and returns its id.
async fn upload_file(boss: &Caller) -> String {
    let numbers: String = (0..300_000).map(|number| format!("{number}\\\t\n")).collect();
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"object\"\r\n\r\n{{\"name\":\"log\"}}\r\n\
        --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"log.txt\"\r\n\
        Content-Type: text/plain\r\n\r\n{numbers}\r\n--b--\r\n"
    );
    let request = boss.request("POST", BINARIES).accepting_json();
    let stored = request.header("Content-Type", "multipart/form-data; boundary=b").body(body).send().await;
    stored.expect(201).json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn suspended_tenant_goes_on_at_another_deployment_and_misses_nothing() {
    let (scratch, source, target) = (scratch(), TestServer::start().await, TestServer::start().await);
    let boss = create_tenant(&source, "acme").await;
    let acme = Acme::fill(&source, &boss).await;
    let before = acme.lists(&boss).await;

    let path = format!("{TENANTS}/acme");
    management(&source).put(&path, &json!({"status": "SUSPENDED"})).await.expect(200);
    export(source.database(), scratch.path(), "acme", "acme.tenant");
    let said = succeed(on(target.database(), scratch.path(), &IMPORT, &["acme.tenant"]));
    assert!(said.contains("SUSPENDED"), "{said}");
    let boss = target.caller("acme/boss", ADMIN_PASSWORD);
    assert_eq!(boss.get(ALARMS).await.status, 403);
    management(&target).put(&path, &json!({"status": "ACTIVE"})).await.expect(200);

    assert_eq!(acme.lists(&boss).await, before);
    let unread = boss.read(&format!("{CONSUMER}/notifications?wait=5&acknowledge={}", acme.position)).await;
    assert_eq!(
        (&unread["recovered"], &unread["notifications"][0]["data"]["data"]["type"]),
        (&json!(true), &json!("unread"))
    );
    acme.goes_on(&target, "acme").await;
}

#[tokio::test]
async fn copy_lives_beside_its_original_and_shares_nothing_with_it() {
    let (scratch, server) = (scratch(), TestServer::start().await);
    let boss = create_tenant(&server, "acme").await;
    let acme = Acme::fill(&server, &boss).await;

    export(server.database(), scratch.path(), "acme", "acme.tenant");
    let twin = ["acme.tenant", "--as", "twin", "--domain", "twin.example.com"];
    succeed(on(server.database(), scratch.path(), &IMPORT, &twin));

    let before = acme.lists(&boss).await;
    acme.goes_on(&server, "twin").await;
    assert_eq!(acme.lists(&boss).await, before, "the original does not change");
    acme.goes_on(&server, "acme").await;
    let joe = server.caller("joe", "joes-secret");
    joe.request("GET", "/user/currentUser").header("Host", "twin.example.com").send().await.expect(200);
}
