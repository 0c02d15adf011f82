//! The life of a device agent: a gateway with two child devices, from its first poll for
//! credentials to the end of an alarm, across a restart of the server in the middle of an operation.

use crate::harness::prelude::*;

const OPERATIONS: &str = "/devicecontrol/operations";
const REQUESTS: &str = "/devicecontrol/newDeviceRequests";
const NOTIFICATIONS: &str = "/devicecontrol/notifications";
/// The serials of the gateway and of its sensors.
const SERIAL: &str = "gw-4711";
const SENSORS: [&str; 2] = ["gw-4711/t1", "gw-4711/t2"];

/// The content of a device's flash memory: only its credentials.
struct Credentials {
    user: String,
    password: String,
}

/// The program on the gateway, from one start to the next.
struct Agent {
    user: Caller,
    id: String,
    sensors: Vec<String>,
}

#[tokio::test]
async fn agent_lives_from_its_first_poll_to_the_end_of_an_alarm_across_a_restart() {
    let database = TestDatabase::create().await;
    let server = TestServer::start_on(&database, |_| {}).await;
    let hall = prepare(&server.admin()).await;

    let credentials = come_in(&server, &hall).await;
    let agent = Agent::start(&server, &credentials).await;
    assert_eq!(members(&server.admin(), &hall, "childAssets").await, std::slice::from_ref(&agent.id));
    let interrupted = be_interrupted_by_the_end_of(server, &agent).await;

    let server = TestServer::start_on(&database, |_| {}).await;
    let operator = server.admin();
    let missed = queue(&operator, &agent.sensors[1], json!({"plat_Restart": {}})).await;
    let agent = {
        let again = Agent::start(&server, &credentials).await;
        assert_eq!((&again.id, &again.sensors), (&agent.id, &agent.sensors), "it recognises what it made");
        again
    };
    let session = agent.open_for_operations().await;
    assert_eq!(outcome(&operator, &interrupted).await, ("FAILED".into(), json!("the agent was restarted")));
    agent.catch_up(&missed).await;
    assert_eq!(outcome(&operator, &missed).await.0, "SUCCESSFUL");
    agent.update_firmware(&operator, &session).await;
    agent.report(&operator).await;
    agent.raise_and_clear_an_alarm(&operator).await;

    let done = operator.read(&format!("{OPERATIONS}?agentId={}&pageSize=10", agent.id)).await;
    let done = done["operations"].as_array().unwrap().clone();
    let statuses: Vec<_> = done.iter().map(|operation| operation["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["SUCCESSFUL", "FAILED", "SUCCESSFUL", "SUCCESSFUL"]);
}

/// Creates the object of a hall for the gateway, as a user would do before.
async fn prepare(admin: &Caller) -> String {
    let hall = json!({"name": "Hall 7", "type": "plat_DeviceGroup", "plat_IsDeviceGroup": {}});
    id_of(&admin.create(OBJECTS, &hall).await)
}

/// Step 0: the device polls for its credentials until a user has registered and accepted it.
async fn come_in(server: &TestServer, hall: &str) -> Credentials {
    let (admin, poll) = (server.admin(), json!({"id": SERIAL}));
    let bootstrap = server.caller("management/devicebootstrap", BOOTSTRAP_PASSWORD);
    let path = "/devicecontrol/deviceCredentials";
    assert_eq!(bootstrap.post(path, &poll).await.status, 404);
    let request = admin.create(REQUESTS, &json!({"id": SERIAL, "groupId": hall})).await;
    assert_eq!(bootstrap.post(path, &poll).await.status, 404);
    let link = request["self"].as_str().unwrap();
    assert_eq!(admin.read(link).await["status"], "PENDING_ACCEPTANCE");
    assert_eq!(admin.put(link, &json!({"status": "ACCEPTED"})).await.status, 200);

    let told = bootstrap.create(path, &poll).await;

    let text = |member: &str| told[member].as_str().unwrap().to_owned();
    Credentials { user: format!("{}/{}", text("tenantId"), text("username")), password: text("password") }
}

impl Agent {
    /// Steps 1 to 5: the agent finds its object and those of its sensors, or creates them.
    async fn start(server: &TestServer, credentials: &Credentials) -> Self {
        let user = server.caller(&credentials.user, &credentials.password);
        let id = match find(&user, SERIAL).await {
            None => {
                let object = json!({"name": "Gateway", "type": "acme_Gateway", "plat_IsDevice": {},
                    "com_platform_model_Agent": {}, "plat_SupportedOperations": ["plat_Restart", "plat_Firmware"]});
                create_as(&user, SERIAL, &object).await
            }
            Some(id) => id,
        };
        // The agent never changes its name, because users may have changed it.
        let software = json!({"plat_SoftwareList": [{"name": "agent", "version": "1.0"}]});
        assert_eq!(user.put(&format!("{OBJECTS}/{id}"), &software).await.status, 200);
        let mut sensors = Vec::new();
        for serial in SENSORS {
            let sensor = match find(&user, serial).await {
                None => create_as(&user, serial, &json!({"name": serial, "plat_IsDevice": {}})).await,
                Some(sensor) => sensor,
            };
            let child = json!({"managedObject": {"id": sensor}});
            user.create(&format!("{OBJECTS}/{id}/childDevices"), &child).await;
            sensors.push(sensor);
        }
        assert_eq!(members(&user, &id, "childDevices").await, sensors);
        Self { user, id, sensors }
    }

    /// Step 6: the agent completes interrupted operations, subscribes, and only then queries its pending operations.
    async fn open_for_operations(&self) -> Session {
        for leftover in self.operations("EXECUTING").await {
            let failed = json!({"status": "FAILED", "failureReason": "the agent was restarted"});
            self.change(&leftover, &failed).await;
        }
        let handshake = json!([{"id": "1", "channel": "/meta/handshake", "version": "1.0",
            "supportedConnectionTypes": ["long-polling"]}]);
        let answer = self.user.exchange(NOTIFICATIONS, &handshake).await;
        let session = self.user.resume(answer[0]["clientId"].as_str().unwrap()).on(NOTIFICATIONS);
        let subscribed = session.subscribe(&format!("/{}", self.id)).await;
        assert_eq!(subscribed["successful"], true, "{subscribed}");
        session
    }

    /// The end of step 6: the agent executes the operations that were queued while it was not subscribed.
    async fn catch_up(&self, missed: &Value) {
        let pending = self.operations("PENDING").await;
        assert_eq!(pending.iter().map(id_of).collect::<Vec<_>>(), [id_of(missed)]);
        for operation in pending {
            self.change(&operation, &json!({"status": "EXECUTING"})).await;
            self.change(&operation, &json!({"status": "SUCCESSFUL"})).await;
        }
    }

    /// Steps 7 and 8: the agent receives an operation for a sensor by its long poll and executes it, and the inventory
    /// shows the result.
    async fn update_firmware(&self, operator: &Caller, session: &Session) {
        let (sensor, held) = (&self.sensors[0], session.hold().await);
        let firmware = json!({"name": "t1", "version": "2.0", "url": "http://firmware.example.com/t1"});
        let queued = queue(operator, sensor, json!({"plat_Firmware": firmware})).await;

        let answer = held.answer().await;

        let operation = &notifications(&answer)[0]["data"];
        assert_eq!((id_of(operation), &operation["status"]), (id_of(&queued), &json!("PENDING")));
        assert_eq!((&operation["deviceId"], &operation["deviceName"]), (&json!(sensor), &json!(SENSORS[0])));
        let known_as = &operation["deviceExternalIDs"]["externalIds"];
        assert_eq!(*known_as, json!([{"type": "plat_Serial", "externalId": SENSORS[0]}]));
        self.change(operation, &json!({"status": "EXECUTING"})).await;
        assert_eq!(outcome(operator, &queued).await.0, "EXECUTING");
        let path = format!("{OBJECTS}/{sensor}");
        let installed = json!({"plat_Firmware": operation["plat_Firmware"]});
        assert_eq!(self.user.put(&path, &installed).await.status, 200);
        self.change(operation, &json!({"status": "SUCCESSFUL"})).await;
        assert_eq!(outcome(operator, &queued).await.0, "SUCCESSFUL");
        assert_eq!(operator.read(&path).await["plat_Firmware"], firmware);
        assert!(reply(&session.glance().await)["successful"].as_bool().unwrap(), "it goes on listening");
    }

    /// Steps 9 and 10.
    async fn report(&self, operator: &Caller) {
        let sensor = &self.sensors[0];
        let measured = measurement_of(sensor, "2024-03-10T02:30:00Z", 21);
        self.user.create("/measurement/measurements", &measured).await;
        let event = json!({"type": "acme_DoorOpened", "time": "2024-03-10T02:31:00Z", "text": "Door opened",
            "source": {"id": sensor}});
        self.user.create("/event/events", &event).await;

        let measured = operator.read(&format!("/measurement/measurements?source={sensor}")).await;
        let events = operator.read(&format!("/event/events?source={sensor}")).await;
        assert_eq!(measured["measurements"][0]["env"]["t"]["value"], 21);
        assert_eq!(events["events"][0]["type"], "acme_DoorOpened");
    }

    /// Step 11: the agent raises no alarm that is active already, and clears alarms whose cause is gone.
    async fn raise_and_clear_an_alarm(&self, operator: &Caller) {
        let sensor = &self.sensors[1];
        let active = format!("/alarm/alarms?source={sensor}&status=ACTIVE");
        for _ in 0..2 {
            if self.user.read(&active).await["alarms"].as_array().unwrap().is_empty() {
                self.user.raise_alarm(sensor, "acme_TooHot").await;
            }
        }
        let alarms = operator.read(&active).await["alarms"].as_array().unwrap().clone();
        assert_eq!((alarms.len(), &alarms[0]["count"]), (1, &json!(1)));
        let link = alarms[0]["self"].as_str().unwrap();

        let cleared = self.user.put(link, &json!({"status": "CLEARED"})).await;

        assert_eq!((cleared.status, &cleared.json()["status"]), (200, &json!("CLEARED")));
        assert!(self.user.read(&active).await["alarms"].as_array().unwrap().is_empty());
    }

    async fn operations(&self, status: &str) -> Vec<Value> {
        let path = format!("{OPERATIONS}?agentId={}&status={status}&pageSize=2000", self.id);
        self.user.read(&path).await["operations"].as_array().unwrap().clone()
    }

    /// PUT of a change of an operation.
    async fn change(&self, operation: &Value, change: &Value) {
        self.user.put(&format!("{OPERATIONS}/{}", id_of(operation)), change).await.expect(200);
    }
}

/// Queues two operations: the agent executes the first, and the server stops while it executes the second. Returns the
/// second.
async fn be_interrupted_by_the_end_of(server: TestServer, agent: &Agent) -> Value {
    let operator = server.admin();
    let early = queue(&operator, &agent.id, json!({"plat_Restart": {}})).await;
    assert!(agent.operations("EXECUTING").await.is_empty());
    let session = agent.open_for_operations().await;
    agent.catch_up(&early).await;
    let held = session.hold().await;
    let queued = queue(&operator, &agent.sensors[0], json!({"plat_Restart": {}})).await;
    let answer = held.answer().await;
    let operation = notifications(&answer)[0]["data"].clone();
    assert_eq!(id_of(&operation), id_of(&queued));
    agent.change(&operation, &json!({"status": "EXECUTING"})).await;
    // A held poll gets its response before the server stops.
    let held = session.hold().await;
    server.stop().await;
    assert!(notifications(&held.answer().await).is_empty());
    operation
}

async fn queue(operator: &Caller, device: &str, action: Value) -> Value {
    let mut operation = action;
    operation["deviceId"] = json!(device);
    let queued = operator.create(OPERATIONS, &operation).await;
    assert_eq!(queued["status"], "PENDING");
    queued
}

/// Returns status and failure reason as users see them.
async fn outcome(operator: &Caller, operation: &Value) -> (String, Value) {
    let operation = operator.read(&format!("{OPERATIONS}/{}", id_of(operation))).await;
    (operation["status"].as_str().unwrap().to_owned(), operation["failureReason"].clone())
}

/// Step 1: the object behind a serial number.
async fn find(user: &Caller, serial: &str) -> Option<String> {
    let answer = user.get(&format!("/identity/externalIds/plat_Serial/{}", serial.replace('/', "%2F"))).await;
    match answer.status {
        200 => Some(id_of(&answer.json()["managedObject"])),
        404 => None,
        other => panic!("{other}: {}", answer.text),
    }
}

/// Steps 2 and 3: a new object, and the serial number it is found by from now on.
async fn create_as(user: &Caller, serial: &str, object: &Value) -> String {
    let id = id_of(&user.create(OBJECTS, object).await);
    let name = json!({"type": "plat_Serial", "externalId": serial});
    user.create(&format!("/identity/globalIds/{id}/externalIds"), &name).await;
    id
}

async fn members(caller: &Caller, parent: &str, block: &str) -> Vec<String> {
    let children = caller.read(&format!("{OBJECTS}/{parent}")).await[block]["references"].clone();
    let children: Vec<Value> =
        children.as_array().unwrap().iter().map(|reference| reference["managedObject"].clone()).collect();
    ids(&json!({"children": children}), "children")
}

fn id_of(thing: &Value) -> String {
    thing["id"].as_str().unwrap_or_else(|| panic!("no id in {thing}")).to_owned()
}
