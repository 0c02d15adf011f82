//! Rows 80 to 84: notifications as lines (docs/rules.md#notifications-as-rows; S-50 to S-59).

mod consumers;
mod errors;
mod sessions;
mod templates;

use super::*;
use crate::harness::operations::{AGENTS, create_below};

/// A client that speaks rows, with the name of its session.
#[derive(Debug, Clone)]
struct RowClient {
    caller: Caller,
    path: String,
    x_id: Option<String>,
    client: String,
}

/// A row 83 whose head has arrived, and with it a space: it is held.
#[derive(Debug)]
struct HeldRow(reqwest::Response);

/// Returns a request with rows to a Bayeux path; without an X-Id its Content-Type shows that it contains rows (S-50).
fn rows_to(caller: &Caller, path: &str, x_id: Option<&str>, rows: &str) -> Request {
    let request = caller.request("POST", path).header("Accept", "text/plain").body(rows);
    match x_id {
        Some(x_id) => request.header("X-Id", x_id),
        None => request.header("Content-Type", "text/plain"),
    }
}

impl RowClient {
    /// Sends a handshake.
    async fn start(caller: &Caller, path: &str, x_id: Option<&str>) -> Self {
        let answer = text_of(rows_to(caller, path, x_id, "80").send().await);
        let client = answer.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {answer:?}")).to_owned();
        let of_alphanumerics = client.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert!(client.len() == 33 && of_alphanumerics, "{answer:?}");
        Self { caller: caller.clone(), path: path.into(), x_id: x_id.map(ToOwned::to_owned), client }
    }

    /// A session that listens to a channel through a template set.
    async fn listen(caller: &Caller, x_id: &str, channel: &str) -> Self {
        let client = Self::start(caller, REALTIME, Some(x_id)).await;
        client.subscribe(channel).await;
        client
    }

    /// A request with this row; `<c>` in it is the clientId.
    fn request(&self, rows: &str) -> Request {
        let rows = rows.replace("<c>", &self.client);
        rows_to(&self.caller, &self.path, self.x_id.as_deref(), &rows)
    }

    /// Sends rows and returns the whole response without its leading spaces.
    async fn send(&self, rows: &str) -> String {
        shown(self.request(rows).send().await)
    }

    async fn subscribe(&self, channel: &str) {
        assert_eq!(self.send(&format!("81,<c>,{channel}")).await, "", "{channel}");
    }

    async fn connect(&self) -> String {
        self.send("83,<c>").await
    }

    /// Sends a connect and waits for the head of the response, which shows that the server holds the row.
    async fn hold(&self) -> HeldRow {
        HeldRow(self.request("83,<c>").head().await)
    }

    /// Connects again and again until this many lines have come.
    async fn receive(&self, count: usize) -> String {
        let mut received = String::new();
        while received.lines().count() < count {
            let answer = self.connect().await;
            assert!(!answer.is_empty() && !answer.contains("402::"), "{answer:?} after {received:?}");
            received.push_str(&answer);
        }
        received
    }
}

impl HeldRow {
    /// Returns the whole response without its leading spaces.
    async fn answer(self) -> String {
        shown(Response::of(self.0).await)
    }

    /// Returns the next chunk of the response unchanged.
    async fn piece(&mut self) -> String {
        let piece = soon("a piece of a held answer", self.0.chunk()).await.unwrap();
        String::from_utf8(piece.expect("it is held").into()).unwrap()
    }
}

fn shown(answer: Response) -> String {
    text_of(answer).trim_start_matches(' ').to_owned()
}

/// Registers templates.
async fn register(caller: &Caller, x_id: &str, templates: &str) -> String {
    let answer = send_to(caller, x_id, templates).await;
    let object = answer.strip_prefix("20,").unwrap_or_else(|| panic!("{templates}: {answer}"));
    object.trim_end().to_owned()
}

/// A response template that selects the type of any object that has one.
const TYPES: &str = "11,200,,$.type,$.type";

#[tokio::test]
async fn life_of_a_session() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "alarms", "11,200,,$.severity,$.type,$.severity,$.source.id").await;

    let client = RowClient::start(&admin, REALTIME, Some("alarms")).await;
    assert_eq!(client.send(&format!("81,<c>,/alarms/{device}")).await, "");
    let held = client.hold().await;
    admin.raise_alarm(&device, "hot, \"very\"").await;
    assert_eq!(held.answer().await, format!("200,1,\"hot, \"\"very\"\"\",MAJOR,{device}\n"));

    assert_eq!(client.send(&format!("82,<c>,/alarms/{device}")).await, "");
    client.subscribe(&format!("/events/{device}")).await;
    admin.raise_alarm(&device, "unheard").await;
    admin.create_event(&device, "opened").await;
    register(&admin, "events", "11,300,,$.text,$.type").await;
    assert_eq!(client.send(&format!("81,<c>,/events/{device},events")).await, "");
    assert_eq!(client.connect().await, "87,1,events\n300,1,opened\n", "an event has no severity");

    assert_eq!(client.send("84,<c>").await, "");
    assert_eq!(client.connect().await, "40,/meta/connect,402::Unknown client\n86,,0,handshake\n");
}

#[tokio::test]
async fn every_resource_is_published_by_its_object_on_exact_channels_and_wildcards() {
    let (_server, admin, device) = TestServer::shared().await.with_agent("pump").await;
    let templates = "11,201,,$.severity,$.type\n11,202,$,$.env,$.env.t.value,$.env.t.unit\n11,203,,$.acme,$.name\n\
        11,204,,$.plat_Restart,$.status,$.deviceId\n11,205,,$.text,$.text";
    register(&admin, "all", templates).await;

    for (resource, told) in [
        ("alarms", "201,1,hot\n205,1,Too hot\n".to_owned()),
        ("events", "205,1,It happened\n".to_owned()),
        ("measurements", "202,1,7,C\n".to_owned()),
        ("operations", format!("204,1,PENDING,{device}\n")),
        ("managedobjects", "203,1,pump\n".to_owned()),
    ] {
        for channel in [format!("/{resource}/{device}"), format!("/{resource}/*")] {
            let client = RowClient::listen(&admin, "all", &channel).await;
            let held = client.hold().await;
            match resource {
                "alarms" => drop(admin.raise_alarm(&device, "hot").await),
                "events" => drop(admin.create_event(&device, "opened").await),
                "measurements" => {
                    let body = measurement_of(&device, "2024-03-10T02:30:00Z", 7);
                    admin.create("/measurement/measurements", &body).await;
                }
                "operations" => drop(crate::harness::operations::queue(&admin, &device).await),
                _ => {
                    let path = format!("/inventory/managedObjects/{device}");
                    assert_eq!(admin.put(&path, &json!({"acme": {}})).await.status, 200);
                }
            }
            assert_eq!(held.answer().await, told, "{channel}");
        }
    }
}

#[tokio::test]
async fn agent_is_given_the_operation_itself() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "sensor").await;
    register(&admin, "agent", "11,500,,$.plat_Restart,$.id,$.deviceId,$.deviceName,$.plat_Restart").await;
    let client = RowClient::start(&admin, AGENTS, Some("agent")).await;
    client.subscribe(&format!("/{agent}")).await;

    let held = client.hold().await;
    let operation = crate::harness::operations::queue(&admin, &child).await;

    let id = operation["id"].as_str().unwrap();
    assert_eq!(held.answer().await, format!("500,1,{id},{child},sensor,{{}}\n"));
}

#[tokio::test]
async fn deletion_is_published_by_the_id() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let event = admin.create_event(&device, "opened").await;
    register(&admin, "ids", "11,200,,,$.id\n11,201,,$.type,$.type").await;
    let client = RowClient::listen(&admin, "ids", "/events/*").await;

    let held = client.hold().await;
    let id = event["id"].as_str().unwrap();
    assert_eq!(admin.delete(&format!("/event/events/{id}")).await.status, 204);

    assert_eq!(held.answer().await, format!("200,1,{id}\n"));
}

#[tokio::test]
async fn spaces_come_before_the_first_line() {
    let keep_alive = Duration::from_millis(100);
    let (_server, admin, device) = TestServer::start_with(|settings| settings.limits.keep_alive = keep_alive)
        .await
        .with_device("pump")
        .await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::listen(&admin, "types", "/alarms/*").await;

    let mut held = client.hold().await;
    let spaces = [held.piece().await, held.piece().await, held.piece().await];
    admin.raise_alarm(&device, "hot").await;

    assert_eq!(spaces, [" ", " ", " "]);
    assert_eq!(held.answer().await, "200,1,hot\n");
}

#[tokio::test]
async fn connect_whose_time_is_over_gets_advice() {
    // A session that moves between two servers needs a part of the time.
    let hold: u64 = if runs_at_two_servers() { 4000 } else { 700 };
    let (plain, first_row, second_row) =
        (format!("86,{hold},0,retry\n"), format!("86,1,{hold},0,retry\n"), format!("86,2,{hold},0,retry\n"));
    let hold = Duration::from_millis(hold);
    for (compatible, first, second) in [(false, &plain, &plain), (true, &first_row, &second_row)] {
        let server = TestServer::start_with(|settings| {
            settings.client_compatibility = compatible;
            settings.limits.connect_timeout = hold;
        })
        .await;
        let client = RowClient::start(&server.admin(), REALTIME, None).await;

        let begun = Instant::now();
        assert_eq!(client.connect().await, *first, "{compatible}");
        assert_eq!(begun.elapsed() < hold, compatible, "only the first one is not held");
        let begun = Instant::now();
        assert_eq!(client.send("\n83,<c>").await, *second, "{compatible}");
        assert!(begun.elapsed() >= hold);
    }
}

#[tokio::test]
async fn what_no_template_matches_is_dropped_and_does_not_end_the_connect() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "acme", "11,200,,$.acme,$.type,$.acme").await;
    let client = RowClient::listen(&admin, "acme", "/alarms/*").await;

    let held = client.hold().await;
    for kind in ["one", "two", "three"] {
        admin.raise_alarm(&device, kind).await;
    }
    let mut alarm = crate::harness::alarm_of(&device, "four");
    alarm["acme"] = json!(4);
    admin.create("/alarm/alarms", &alarm).await;

    assert_eq!(held.answer().await, "200,1,four,4\n");
}

#[tokio::test]
async fn what_no_template_matches_does_not_lengthen_the_connect() {
    let timeout = Duration::from_millis(1500);
    let (_server, admin, device) =
        TestServer::start_with(|settings| settings.limits.connect_timeout = timeout)
            .await
            .with_device("pump")
            .await;
    register(&admin, "acme", "11,200,,$.acme,$.acme").await;
    let client = RowClient::listen(&admin, "acme", "/alarms/*").await;

    let begun = Instant::now();
    let mut held = Box::pin(client.connect());
    let answer = loop {
        tokio::select! {
            answer = &mut held => break answer,
            _ = admin.raise_alarm(&device, "hot") => {}
        }
    };

    assert_eq!(answer, "86,1500,0,retry\n");
    assert!(begun.elapsed() >= timeout, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn what_came_between_two_connects_waits_in_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(&admin, "types", TYPES).await;
    let client = RowClient::listen(&admin, "types", "/alarms/*").await;
    for n in 0..10 {
        admin.raise_alarm(&device, &format!("type {n}")).await;
    }

    let told = client.receive(10).await;

    let expected: String = (0..10).map(|n| format!("200,1,type {n}\n")).collect();
    assert_eq!(told, expected);
}
