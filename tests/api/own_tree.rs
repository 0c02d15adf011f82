//! Devices without roles can access only the objects of their own tree (U-10a).

use crate::harness::operations::{AGENTS, OPERATIONS, create_agent, create_below, place_below};
use crate::harness::prelude::*;

const TIME: &str = "2024-03-10T02:30:00Z";

/// A device of the group `devices` with an agent and a sensor below it, and an agent of somebody else.
struct Plant {
    _server: TestServer,
    admin: Caller,
    device: Caller,
    agent: String,
    sensor: String,
    foreign: String,
}

impl Plant {
    async fn create() -> Self {
        let server = TestServer::shared().await;
        let (admin, device) = (server.admin(), server.device_user("g1").await);
        let agent = create_agent(&device, "gateway").await;
        // The owner of a gateway also owns everything below it, whoever created that.
        let sensor = create_below(&admin, &agent, "sensor").await;
        let foreign = create_agent(&admin, "other").await;
        Self { _server: server, admin, device, agent, sensor, foreign }
    }

    /// The three objects.
    fn objects(&self) -> [&String; 3] {
        [&self.agent, &self.sensor, &self.foreign]
    }

    /// Creates one thing of each of the three, by the administrator, and returns their ids.
    async fn create_of_each(&self, path: &str, body: impl Fn(&str) -> Value) -> [String; 3] {
        let mut created = [const { String::new() }; 3];
        for (id, object) in created.iter_mut().zip(self.objects()) {
            *id = self.admin.create(path, &body(object)).await["id"].as_str().unwrap().to_owned();
        }
        created
    }

    /// Returns the response to the device: the status, and the ids of a collection.
    async fn read(&self, path: &str, member: &str) -> (u16, Vec<String>) {
        let answer = self.device.get(path).await;
        let found = if answer.status == 200 { ids(&answer.json(), member) } else { Vec::new() };
        (answer.status, found)
    }
}

#[tokio::test]
async fn device_reads_what_its_tree_sent_and_nothing_of_others() {
    let plant = Plant::create().await;
    type Body = fn(&str) -> Value;
    let sent: [(&str, &str, Body); 3] = [
        ("/alarm/alarms", "alarms", |source| alarm_of(source, "hot")),
        ("/event/events", "events", |source| event_of(source, "door")),
        ("/measurement/measurements", "measurements", |source| measurement_of(source, TIME, 1)),
    ];
    for (path, member, body) in sent {
        let [own, below, foreign] = plant.create_of_each(path, body).await;
        let [agent, sensor, other] = plant.objects();

        for (source, id) in [(agent, &own), (sensor, &below)] {
            let expected = (200, vec![id.clone()]);
            assert_eq!(plant.read(&format!("{path}?source={source}"), member).await, expected, "{path}");
            assert_eq!(plant.device.get(&format!("{path}/{id}")).await.status, 200, "{path}");
        }
        for query in ["".to_owned(), format!("?source={other}"), "?source=4711".into(), "?source=x".into()] {
            assert_eq!(plant.read(&format!("{path}{query}"), member).await.0, 403, "{path}{query}");
        }
        assert_eq!(plant.device.get(&format!("{path}/{foreign}")).await.status, 403, "{path}");
    }
    for (object, status) in plant.objects().into_iter().zip([200, 200, 403]) {
        let series = "/measurement/measurements/series?dateFrom=2024-01-01&dateTo=2025-01-01";
        assert_eq!(plant.device.get(&format!("{series}&source={object}")).await.status, status);
    }
}

#[tokio::test]
async fn device_reads_all_below_it_by_child_devices_and_not_by_assets() {
    let plant = Plant::create().await;
    let path = "/alarm/alarms";
    let [own, below, foreign] = plant.create_of_each(path, |source| alarm_of(source, "hot")).await;
    let asset = format!("/inventory/managedObjects/{}/childAssets", plant.agent);
    plant.admin.create(&asset, &json!({"managedObject": {"id": plant.foreign}})).await;
    let of = |parameter: &str| format!("{path}?source={}&{parameter}=true&revert=true", plant.agent);

    let devices = plant.read(&of("withSourceDevices"), "alarms").await;
    let assets = plant.read(&of("withSourceAssets"), "alarms").await;

    assert_eq!(devices, (200, vec![own, below]));
    assert_eq!(assets.0, 403);
    assert_eq!(plant.device.get(&format!("{path}/{foreign}")).await.status, 403);
}

#[tokio::test]
async fn device_reads_and_ends_operations_of_its_tree_and_no_others() {
    let plant = Plant::create().await;
    let restart = |device: &str| json!({"deviceId": device, "plat_Restart": {}});
    let [own, below, foreign] = plant.create_of_each(OPERATIONS, restart).await;
    let list = async |query: String| plant.read(&format!("{OPERATIONS}{query}"), "operations").await;
    let (agent, sensor, other) = (&plant.agent, &plant.sensor, &plant.foreign);

    let both = (200, vec![own.clone(), below.clone()]);
    assert_eq!(list(format!("?agentId={agent}&status=PENDING")).await, both);
    assert_eq!(list(format!("?agentId={agent}")).await, both);
    assert_eq!(list(format!("?deviceId={sensor}")).await, (200, vec![below.clone()]));
    assert_eq!(list(format!("?agentId={agent}&deviceId={sensor}")).await, (200, vec![below.clone()]));
    for query in
        ["".into(), "?status=PENDING".into(), format!("?agentId={other}"), format!("?deviceId={other}")]
    {
        assert_eq!(list(query.clone()).await.0, 403, "{query}");
    }
    for (id, status) in [(own, 200), (below, 200), (foreign, 403)] {
        let path = format!("{OPERATIONS}/{id}");
        assert_eq!(plant.device.get(&path).await.status, status);
        assert_eq!(plant.device.get(&format!("{path}/diagnosis")).await.status, status);
        assert_eq!(plant.device.put(&path, &json!({"status": "EXECUTING"})).await.status, status);
    }
}

#[tokio::test]
async fn device_takes_no_name_from_another() {
    let plant = Plant::create().await;
    let pair = |value: &str| json!({"type": "plat_Serial", "externalId": value});
    let ids_of = |object: &str| format!("/identity/globalIds/{object}/externalIds");
    plant.admin.create(&ids_of(&plant.foreign), &pair("good")).await;

    assert_eq!(plant.device.delete("/identity/externalIds/plat_Serial/good").await.status, 403);
    assert_eq!(plant.device.post(&ids_of(&plant.foreign), &pair("mine")).await.status, 403);
    assert_eq!(plant.device.post(&ids_of(&plant.agent), &pair("good")).await.status, 409);

    for (object, value) in [(&plant.agent, "g1"), (&plant.sensor, "s1")] {
        assert_eq!(plant.device.post(&ids_of(object), &pair(value)).await.status, 201, "{value}");
    }
    assert_eq!(plant.device.delete("/identity/externalIds/plat_Serial/s1").await.status, 204);
    let named = plant.admin.read("/identity/externalIds/plat_Serial/good").await;
    assert_eq!(named["managedObject"]["id"], plant.foreign);
}

#[tokio::test]
async fn device_listens_to_its_tree_and_to_no_other_operations() {
    let plant = Plant::create().await;
    let session = plant.device.session().await;
    let (agent, sensor, other) = (&plant.agent, &plant.sensor, &plant.foreign);

    for (channel, successful) in [
        (format!("/operations/{agent}"), true),
        (format!("/operations/{sensor}"), true),
        (format!("/alarms/{sensor}"), true),
        (format!("/events/{agent}"), true),
        (format!("/measurements/{sensor}"), true),
        (format!("/operations/{other}"), false),
        ("/operations/*".into(), false),
        (format!("/alarms/{other}"), false),
    ] {
        assert_eq!(session.subscribe(&channel).await["successful"], successful, "{channel}");
    }
    let operations = plant.device.session().await.on(AGENTS);
    assert_eq!(operations.subscribe(&format!("/{agent}")).await["successful"], true);
    assert_eq!(operations.subscribe(&format!("/{other}")).await["successful"], false);
}

#[tokio::test]
async fn what_is_taken_off_a_device_is_not_its_own_any_more() {
    let plant = Plant::create().await;
    let alarms = format!("/alarm/alarms?source={}", plant.sensor);
    assert_eq!(plant.device.get(&alarms).await.status, 200);

    let link = format!("/inventory/managedObjects/{}/childDevices/{}", plant.agent, plant.sensor);
    assert_eq!(plant.admin.delete(&link).await.status, 204);

    assert_eq!(plant.device.get(&alarms).await.status, 403);
    place_below(&plant.admin, &plant.agent, &plant.sensor).await;
    assert_eq!(plant.device.get(&alarms).await.status, 200);
}

#[tokio::test]
async fn device_accepts_no_registration_requests_whatever_it_holds() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let roles = ["ROLE_DEVICE_CONTROL_READ", "ROLE_DEVICE_CONTROL_ADMIN"];
    let device = server.user_with("device_g1", &roles).await;
    let path = "/devicecontrol/newDeviceRequests";
    admin.create(path, &json!({"id": "sn-1"})).await;

    let answer = device.put(&format!("{path}/sn-1"), &json!({"status": "ACCEPTED"})).await;

    assert_eq!((answer.status, &*answer.error()), (403, "security/Forbidden"), "{}", answer.text);
    assert_eq!(admin.read(&format!("{path}/sn-1")).await["status"], "WAITING_FOR_CONNECTION");
    assert_eq!(server.device_user("g2").await.get(path).await.status, 403, "devices do not even see them");
}
