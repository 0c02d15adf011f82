//! The callers of the matrix, and the objects of their requests. Each request gets new objects, because some delete
//! them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use platform_front::config::Settings;

use super::*;
use crate::harness::service::run_everywhere;

/// The kinds of callers, in the order of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// No credentials.
    Stranger,
    /// The administrator of another tenant.
    OtherTenant,
    /// A user of the tenant without any role.
    WithoutRole,
    /// A device: a user with the roles of the group `devices`.
    Device,
    /// The owner of the object, who may create objects and has no other role.
    Owner,
    /// The administrator.
    Admin,
}

impl Who {
    pub(super) const ALL: [Self; 6] =
        [Self::Stranger, Self::OtherTenant, Self::WithoutRole, Self::Device, Self::Owner, Self::Admin];
}

/// One microservice for all cells, because a call of it changes nothing.
const MICROSERVICE: &str = "everywhere";

/// The roles of the group `devices` (U-10a).
const DEVICE_ROLES: [&str; 6] = [
    "ROLE_INVENTORY_CREATE",
    "ROLE_INVENTORY_READ",
    "ROLE_IDENTITY_READ",
    "ROLE_NOTIFICATION_READ",
    "ROLE_USER_MANAGEMENT_OWN_READ",
    "ROLE_USER_MANAGEMENT_OWN_ADMIN",
];

pub(super) struct Fixture {
    callers: HashMap<u8, Caller>,
    made: AtomicU32,
    /// The certificate authority that the platform made.
    authority: String,
    pub(super) server: TestServer,
}

impl Fixture {
    pub(super) async fn create() -> Self {
        let database = TestDatabase::create().await;
        database.insert_tenant("plant7", "plant7.example.com").await;
        let change = |settings: &mut Settings| {
            settings.read_connections = 8;
            // A bulk update of alarms that takes longer would get 202.
            settings.limits.bulk_alarm_reply = Duration::from_secs(60);
        };
        let server = TestServer::start_on(&database, change).await;
        let callers = HashMap::from([
            (Who::Stranger as u8, server.stranger()),
            (Who::OtherTenant as u8, server.caller("plant7/admin", ADMIN_PASSWORD)),
            (Who::WithoutRole as u8, server.user_with("bare", &[]).await),
            (Who::Device as u8, server.user_with("device_1", &DEVICE_ROLES).await),
            (Who::Owner as u8, server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await),
            (Who::Admin as u8, server.admin()),
        ]);
        run_everywhere(&server, MICROSERVICE).await;
        // Both tenants have one before the first row, because a row makes one for each caller who may.
        callers[&(Who::OtherTenant as u8)].create("/certificate-authority", &json!({})).await;
        let named = json!({"name": format!("{SECRET} authority")});
        let authority = server.admin().create("/certificate-authority", &named).await;
        let authority = authority["fingerprint"].as_str().unwrap().to_owned();
        Self { callers, made: AtomicU32::new(0), authority, server }
    }

    pub(super) fn caller(&self, who: Who) -> &Caller {
        &self.callers[&(who as u8)]
    }

    /// Returns a path and a body in which new objects replace `<names>`.
    pub(super) async fn arrange(&self, path: &str, body: Option<&str>) -> (String, Option<String>) {
        let mut things = HashMap::new();
        let path = self.fill(path, &mut things).await;
        let body = match body {
            Some(body) => Some(self.fill(body, &mut things).await.replace("\\r\\n", "\r\n")),
            None => None,
        };
        (path, body)
    }

    async fn fill(&self, text: &str, things: &mut HashMap<String, String>) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('<') {
            let (name, after) =
                behind.split_once('>').unwrap_or_else(|| panic!("no end of a name in {text}"));
            filled.push_str(before);
            if !things.contains_key(name) {
                let thing = self.make(name, things).await;
                things.insert(name.to_owned(), thing);
            }
            filled.push_str(&things[name]);
            rest = after;
        }
        filled + rest
    }

    async fn make(&self, name: &str, things: &HashMap<String, String>) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let (owner, admin) = (self.caller(Who::Owner), self.caller(Who::Admin));
        let id = |created: serde_json::Value| created["id"].to_string().trim_matches('"').to_owned();
        match name {
            "number" => number.to_string(),
            "uuid" => format!("{number:032x}"),
            "token client" => {
                let client = json!({"name": format!("{SECRET} {number}")});
                let client = admin.create("/application/tokenClients", &client).await;
                client["clientId"].as_str().unwrap().to_owned()
            }
            "retention rule" => {
                let rule = json!({"maximumAge": 36_500, "type": format!("{SECRET} {number}")});
                id(admin.create("/retention/retentions", &rule).await)
            }
            "consumer" => {
                let name = format!("{SECRET}{number}");
                let body = json!({"name": name, "channels": ["/alarms/*"]});
                admin.create("/notification/consumers", &body).await;
                name
            }
            "trace" => id(admin.create("/notification/traces", &json!({"user": SECRET})).await),
            "session" => {
                let user = format!("{SECRET}{number}");
                let session = self.server.user_with(&user, &["ROLE_ALARM_READ"]).await.session().await;
                let listed = admin.read(&format!("/tenant/sessions?user={user}")).await;
                assert!(session.is_known().await);
                id(listed["sessions"][0].clone())
            }
            "object" | "free" => {
                let body = json!({"name": format!("{SECRET} {number}"), "plat_IsDevice": {}});
                id(owner.create("/inventory/managedObjects", &body).await)
            }
            "child" => {
                let path = format!("/inventory/managedObjects/{}/childAssets", things["object"]);
                id(owner.create(&path, &json!({"name": format!("{SECRET} child")})).await)
            }
            "agent" => {
                let agent = json!({"name": format!("{SECRET} {number}"), "com_platform_model_Agent": {}});
                id(owner.create("/inventory/managedObjects", &agent).await)
            }
            "operation" => {
                let agent = json!({"name": format!("{SECRET} {number}"), "com_platform_model_Agent": {}});
                let agent = id(owner.create("/inventory/managedObjects", &agent).await);
                let operation = json!({"deviceId": agent, "plat_Command": {"text": SECRET}});
                id(admin.create("/devicecontrol/operations", &operation).await)
            }
            "alarm" => {
                let object = json!({"name": format!("{SECRET} {number}")});
                let object = id(owner.create("/inventory/managedObjects", &object).await);
                id(admin.create("/alarm/alarms", &alarm_of(&object, &format!("{SECRET} alarm"))).await)
            }
            "event" | "event with file" => {
                let object = json!({"name": format!("{SECRET} {number}")});
                let object = id(owner.create("/inventory/managedObjects", &object).await);
                let event = event_of(&object, &format!("{SECRET} event"));
                let event = id(admin.create("/event/events", &event).await);
                if name == "event with file" {
                    let path = format!("/event/events/{event}/binaries");
                    assert_eq!(admin.request("POST", &path).body(SECRET).send().await.status, 201);
                }
                event
            }
            "measurement" => {
                let object = json!({"name": format!("{SECRET} {number}")});
                let object = id(owner.create("/inventory/managedObjects", &object).await);
                let mut measurement = measurement_of(&object, "2024-03-10T02:30:00Z", 1);
                measurement["type"] = json!(SECRET);
                id(admin.create("/measurement/measurements", &measurement).await)
            }
            "device group" => {
                let body = json!({"name": format!("{SECRET} {number}"), "plat_IsDeviceGroup": {}});
                id(owner.create("/inventory/managedObjects", &body).await)
            }
            "bulk operation" => {
                let group = json!({"name": format!("{SECRET} {number}"), "plat_IsDeviceGroup": {}});
                let group = id(owner.create("/inventory/managedObjects", &group).await);
                let body = json!({"groupId": group, "startDate": "3024-03-10T02:30:00Z", "creationRamp": 1,
                    "operationPrototype": {"text": SECRET}});
                id(admin.create("/devicecontrol/bulkoperations", &body).await)
            }
            "external id" => {
                let object = json!({"name": format!("{SECRET} {number}")});
                let object = id(owner.create("/inventory/managedObjects", &object).await);
                let path = format!("/identity/globalIds/{object}/externalIds");
                let value = format!("{SECRET}-{number}");
                admin.create(&path, &json!({"type": SECRET, "externalId": value})).await;
                value
            }
            "audit record" => {
                let record = json!({"type": SECRET, "time": "2024-03-10T02:30:00Z", "text": SECRET,
                    "severity": "major", "activity": SECRET, "source": {"id": "1"}});
                id(admin.create("/audit/auditRecords", &record).await)
            }
            "binary" => {
                let form = "--b\r\nContent-Disposition: form-data; name=\"object\"\r\n\r\n{\"name\":\"zebra\"}\r\n\
                    --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"zebra\"\r\n\r\nzebra\r\n--b--\r\n";
                let request = owner.request("POST", "/inventory/binaries").accepting_json();
                let request = request.header("Content-Type", "multipart/form-data; boundary=b").body(form);
                id(request.send().await.json())
            }
            "user" => {
                let name = format!("{SECRET}-user-{number}");
                admin.create("/user/main/users", &json!({"userName": name, "password": "secret-1"})).await;
                name
            }
            "member" => {
                let name = format!("{SECRET}-user-{number}");
                admin.create("/user/main/users", &json!({"userName": name, "password": "secret-1"})).await;
                let path = format!("/user/main/groups/{}/users", things["group"]);
                admin.create(&path, &json!({"user": {"id": name}})).await;
                name
            }
            "group" | "group with role" => {
                let group = json!({"name": format!("{SECRET} group {number}")});
                let group = id(admin.create("/user/main/groups", &group).await);
                if name == "group with role" {
                    let path = format!("/user/main/groups/{group}/roles");
                    admin.create(&path, &json!({"role": {"name": "ROLE_EVENT_READ"}})).await;
                }
                group
            }
            "authority" => self.authority.clone(),
            "request" => {
                let request = json!({"id": format!("{SECRET}-{number}")});
                id(admin.create("/devicecontrol/newDeviceRequests", &request).await)
            }
            "application" => {
                let body = json!({"name": format!("{SECRET} {number}"), "key": format!("{SECRET}-{number}"),
                    "type": "HOSTED", "contextPath": format!("{SECRET}-{number}"), "resourcesUrl": "/"});
                id(admin.create("/application/applications", &body).await)
            }
            "service" => MICROSERVICE.to_owned(),
            "subscription" => {
                let body = json!({"name": format!("{SECRET} {number}"), "key": format!("{SECRET}-{number}"),
                    "type": "EXTERNAL", "externalUrl": "https://example.com/"});
                let application = id(admin.create("/application/applications", &body).await);
                let body = json!({"application": {"id": application}});
                admin.create("/tenant/tenants/main/applications", &body).await;
                application
            }
            "microservice" => {
                let body = json!({"name": format!("{SECRET}{number}"), "key": format!("{SECRET}-{number}"),
                    "type": "MICROSERVICE"});
                id(admin.create("/application/applications", &body).await)
            }
            "archive" => {
                // The numbers in this archive are so small that its bytes are valid text.
                let empty = Entry { mode: 0, ..Entry::stored("index.html", "") };
                String::from_utf8(archive(&[empty])).unwrap()
            }
            "web" => {
                let name = format!("{SECRET}-{number}");
                let body = json!({"name": name, "key": name, "type": "HOSTED", "contextPath": name,
                    "resourcesUrl": "/"});
                let application = id(admin.create("/application/applications", &body).await);
                let page = archive(&[Entry::stored("index.html", SECRET)]);
                assert_eq!(upload(admin, &application, &page).await.status, 204);
                name
            }
            "module" => {
                let text = format!("module {SECRET}{number};");
                let request = admin.request("POST", "/cep/modules").accepting_json();
                id(request.header("Content-Type", "text/plain").body(text).send().await.json())
            }
            "option" => {
                let key = format!("key {number}");
                let option = json!({"category": "settings", "key": key, "value": SECRET});
                admin.create("/tenant/options", &option).await;
                key.replace(' ', "%20")
            }
            other => panic!("no fixture is called {other}"),
        }
    }
}
