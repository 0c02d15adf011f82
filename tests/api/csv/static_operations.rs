//! Rows 500 to 506: pending operations and their results (H-06, H-07, H-12, H-13).

use super::*;
use crate::harness::operations::{OPERATIONS, place_below};

/// An agent with the serial `g1`, below it a device `c1` and a device without a serial; the caller is the agent's own
/// user.
pub(super) struct Gateway {
    pub(super) admin: Caller,
    pub(super) device: Caller,
    /// Managed objects of the agent, of `c1` and of the device without a serial.
    pub(super) ids: [String; 3],
}

/// The roles of a device's user that matter here.
const DEVICE_ROLES: [&str; 3] = ["ROLE_INVENTORY_CREATE", "ROLE_INVENTORY_READ", "ROLE_IDENTITY_READ"];

impl Gateway {
    /// A gateway in a tenant of its own.
    pub(super) async fn with_server() -> (TestServer, Self) {
        let server = TestServer::shared().await;
        let gateway = Self::create(&server).await;
        (server, gateway)
    }

    pub(super) async fn create(server: &TestServer) -> Self {
        let (admin, device) = (server.admin(), server.user_with("device_g1", &DEVICE_ROLES).await);
        let agent = json!({"name": "gateway", "plat_IsDevice": {}, "com_platform_model_Agent": {}});
        let agent =
            device.create("/inventory/managedObjects", &agent).await["id"].as_str().unwrap().to_owned();
        let (child, nameless) = (device.create_device("sensor").await, device.create_device("sensor").await);
        place_below(&device, &agent, &child).await;
        place_below(&device, &child, &nameless).await;
        for (id, serial) in [(&agent, "g1"), (&child, "c1")] {
            let name = json!({"type": "plat_Serial", "externalId": serial});
            device.create(&format!("/identity/globalIds/{id}/externalIds"), &name).await;
        }
        Self { admin, device, ids: [agent, child, nameless] }
    }

    /// Queues an operation for one of the three and returns its id.
    pub(super) async fn queue(&self, target: usize, fragments: Value) -> String {
        let mut operation = json!({"deviceId": self.ids[target]});
        operation.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
        self.admin.create(OPERATIONS, &operation).await["id"].as_str().unwrap().to_owned()
    }

    /// Queues an operation that is EXECUTING at once.
    pub(super) async fn begin(&self, target: usize, fragments: Value) -> String {
        let id = self.queue(target, fragments).await;
        self.admin.put(&path_of(&id), &json!({"status": "EXECUTING"})).await.expect(200);
        id
    }

    pub(super) async fn operation(&self, id: &str) -> Value {
        self.admin.read(&path_of(id)).await
    }

    pub(super) async fn statuses<const N: usize>(&self, ids: [&String; N]) -> [String; N] {
        let mut statuses = [const { String::new() }; N];
        for (status, id) in statuses.iter_mut().zip(ids) {
            *status = self.operation(id).await["status"].as_str().unwrap().to_owned();
        }
        statuses
    }

    /// The managed object of one of the three.
    pub(super) async fn object(&self, target: usize) -> Value {
        self.admin.read(&format!("/inventory/managedObjects/{}", self.ids[target])).await
    }
}

pub(super) fn path_of(id: &str) -> String {
    format!("{OPERATIONS}/{id}")
}

#[tokio::test]
async fn pending_operations_of_the_agent_and_all_below_come_in_order_of_creation() {
    let (_server, gateway) = Gateway::with_server().await;
    gateway.queue(1, json!({"plat_Restart": {}, "plat_Relay": {"relayState": "OPEN"}})).await;
    gateway.queue(0, json!({"plat_Configuration": {"config": "a=1\nb=2"}})).await;
    gateway.begin(0, json!({"plat_Restart": {}})).await;
    gateway.queue(0, json!({"plat_Unknown": {}})).await;
    gateway.queue(2, json!({"plat_Restart": {}})).await;
    gateway.queue(0, json!({"plat_Restart": {}})).await;

    let answer = send(&gateway.device, "500").await;

    let expected = format!("510,c1\n518,c1,OPEN\n511,g1,\"a=1\nb=2\"\n510,{}\n510,g1\n", gateway.ids[2]);
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn agent_without_operations_gets_an_empty_response() {
    let (_server, gateway) = Gateway::with_server().await;

    assert_eq!(send(&gateway.device, "500\n500,").await, "");
    assert_eq!(send(&gateway.device, "\n500,x").await, "45,2,No arguments supported\n");
}

#[tokio::test]
async fn nothing_is_lost_where_one_page_does_not_hold_all() {
    let (server, gateway) = Gateway::with_server().await;
    // There is more than one page of 2000 operations, and nine large ones that exceed the size limit of a response.
    let big = "x".repeat(2_000_000);
    let insert = "INSERT INTO operations (tenant, id, device, created_at, status, fragments) SELECT $1, \
        900000000 + n, $2, now() + n * interval '1 ms', 'PENDING', CASE WHEN n <= 9 THEN \
        json_build_object('plat_Relay', json_build_object('relayState', n), 'plat_Big', $4::text) ELSE \
        json_build_object('plat_Relay', json_build_object('relayState', n)) END FROM generate_series(1, $3) AS n";
    let agent: i64 = gateway.ids[0].parse().unwrap();
    server.execute(insert, &[&agent, &2100_i32, &big]).await;

    let answer = send(&gateway.device, "500").await;

    let expected: String = (1..=2100).map(|n| format!("518,g1,{n}\n")).collect();
    assert!(answer == expected, "{} lines, not 2100", answer.lines().count());
}

#[tokio::test]
async fn oldest_operation_in_the_preceding_status_moves_whatever_device_it_is_of() {
    let (_server, gateway) = Gateway::with_server().await;
    let other = gateway.queue(0, json!({"plat_Relay": {}})).await;
    let first = gateway.queue(2, json!({"plat_Restart": {}})).await;
    let second = gateway.queue(0, json!({"plat_Restart": {}, "plat_Note": {}})).await;
    let third = gateway.queue(1, json!({"plat_Restart": {}})).await;
    let ids = [&other, &first, &second, &third];

    for (row, statuses) in [
        ("501,plat_Restart", ["PENDING", "EXECUTING", "PENDING", "PENDING"]),
        ("501,plat_Restart", ["PENDING", "EXECUTING", "EXECUTING", "PENDING"]),
        ("502,plat_Restart,no power", ["PENDING", "FAILED", "EXECUTING", "PENDING"]),
        ("503,plat_Note,ignored,too", ["PENDING", "FAILED", "SUCCESSFUL", "PENDING"]),
        ("501,plat_Restart\n503,plat_Restart", ["PENDING", "FAILED", "SUCCESSFUL", "SUCCESSFUL"]),
    ] {
        assert_eq!(send(&gateway.device, row).await, "", "{row}");
        assert_eq!(gateway.statuses(ids).await, statuses, "{row}");
    }
    assert_eq!(gateway.operation(&first).await["failureReason"], "no power");
    assert_eq!(gateway.operation(&second).await["plat_Restart"], json!({}));
}

#[tokio::test]
async fn failure_needs_no_reason() {
    let (_server, gateway) = Gateway::with_server().await;
    let operation = gateway.begin(0, json!({"plat_Restart": {}})).await;

    assert_eq!(send(&gateway.device, "502,plat_Restart,").await, "");

    let operation = gateway.operation(&operation).await;
    assert_eq!((&operation["status"], operation.get("failureReason")), (&json!("FAILED"), None));
}

#[tokio::test]
async fn row_that_finds_no_operation_is_404() {
    let (_server, gateway) = Gateway::with_server().await;
    let own = gateway.queue(0, json!({"plat_Outer": {"plat_Inner": {}}})).await;
    // This operation belongs to another agent.
    let foreign = crate::harness::operations::create_agent(&gateway.admin, "other").await;
    crate::harness::operations::queue(&gateway.admin, &foreign).await;

    let rows = "501,plat_Inner\n501,plat_Restart\n502,plat_Outer\n503,plat_Outer\n501,status\n501,a\0b";
    let answer = send(&gateway.device, rows).await;

    let lines = (1..=6).map(|line| format!("50,{line},404\n")).collect::<String>();
    assert_eq!(answer, lines);
    assert_eq!(send(&gateway.device, "501,\"&status=FAILED#%é\"").await, "50,1,404\n");
    assert_eq!(gateway.statuses([&own]).await, ["PENDING"]);
}

#[tokio::test]
async fn rows_without_their_arguments_or_with_more_change_nothing() {
    let (_server, gateway) = Gateway::with_server().await;
    let operation = gateway.begin(0, json!({"plat_Restart": {}})).await;

    for row in [
        "501",
        "501,",
        "502",
        "502,,reason",
        "503",
        "503,,x",
        "504",
        "505",
        "505,,x",
        "506",
        "501,plat_Restart,x",
        "502,plat_Restart,a,b",
        "504,1,x",
        "505,1,a,b",
    ] {
        assert_eq!(send(&gateway.device, row).await, "45,1,Wrong number of arguments\n", "{row}");
    }
    assert_eq!(gateway.statuses([&operation]).await, ["EXECUTING"]);
}

#[tokio::test]
async fn agent_reports_by_id() {
    let (_server, gateway) = Gateway::with_server().await;
    let older = gateway.queue(0, json!({"plat_Restart": {}})).await;
    let [done, failed] = [
        gateway.queue(1, json!({"plat_Restart": {}})).await,
        gateway.queue(0, json!({"plat_Restart": {}})).await,
    ];

    assert_eq!(send(&gateway.device, &format!("504,{done}\n504,{failed}")).await, "");
    assert_eq!(gateway.statuses([&older, &done, &failed]).await, ["PENDING", "EXECUTING", "EXECUTING"]);
    assert_eq!(send(&gateway.device, &format!("506,{done},ignored\n505,{failed},\"no, not now\"")).await, "");
    assert_eq!(gateway.statuses([&older, &done, &failed]).await, ["PENDING", "SUCCESSFUL", "FAILED"]);
    assert_eq!(gateway.operation(&failed).await["failureReason"], "no, not now");

    let rows = "504,999999999999\n505,x,y\n506,../alarms\n506,-1";
    assert_eq!(send(&gateway.device, rows).await, "50,1,404\n50,2,404\n50,3,404\n50,4,404\n");
}

#[tokio::test]
async fn transient_row_is_published_and_not_stored() {
    let (_server, gateway) = Gateway::with_server().await;
    let operation = gateway.queue(0, json!({"plat_Restart": {}})).await;
    let session = gateway.admin.listen("/operations/*").await;

    let row = request(&gateway.device, "501,plat_Restart").header("X-Platform-Processing-Mode", "TRANSIENT");
    assert_eq!(text_of(row.send().await), "");

    assert_eq!(session.receive(1).await[0]["data"]["data"]["status"], "EXECUTING");
    assert_eq!(gateway.statuses([&operation]).await, ["PENDING"]);
}

#[tokio::test]
async fn rows_need_the_rights_of_their_calls() {
    let (server, gateway) = Gateway::with_server().await;
    let operation = gateway.queue(0, json!({"plat_Restart": {}})).await;
    let reader = server.user_with("reader", &["ROLE_DEVICE_CONTROL_READ", "ROLE_IDENTITY_READ"]).await;
    let rows = format!("500\n501,plat_Restart\n504,{operation}\n505,{operation}\n506,{operation}");
    let rows_of = |caller: &Caller| request(caller, &rows).header("X-Device-Id", "g1");

    let answer = text_of(rows_of(&reader).send().await);

    // Another test checks whether a reader may act for the device at all; here it must not change anything.
    let refused: Vec<_> = answer.lines().filter(|line| line.starts_with("50,")).collect();
    assert!(refused.ends_with(&["50,2,403", "50,3,403", "50,4,403", "50,5,403"]), "{answer}");
    assert_eq!(gateway.statuses([&operation]).await, ["PENDING"]);
}
