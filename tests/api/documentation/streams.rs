//! The AsyncAPI document: it is valid, it has every channel and endpoint of the server, and what clients receive is as
//! its messages say.

use std::collections::BTreeSet;
use std::path::Path;

use platform_model::realtime::bayeux::channel::Endpoint;
use platform_model::realtime::bayeux::{Pattern, Resource};

use super::*;
use crate::harness::reference::REFERENCE;
use crate::harness::streams::{STREAMS, channel_of, check_message, faults_by_draft_7};
use crate::harness::{modules, node, operations};

/// The JSON schema of AsyncAPI in its npm package.
const SCHEMA: &str = "node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json";

/// Calls a function with each object of a document and its place.
fn each_object(place: &str, value: &Value, look: &mut impl FnMut(&str, &serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            look(place, members);
            for (name, member) in members {
                each_object(&format!("{place}/{name}"), member, look);
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(number, item)| each_object(&format!("{place}/{number}"), item, look));
        }
        _ => {}
    }
}

#[test]
fn document_of_streams_is_valid_asyncapi() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asyncapi");
    if let Err(missing) = node::find_node().and_then(|()| node::install_packages(&suite)) {
        assert!(!other_programs_are_required(), "the schema of AsyncAPI is missing: {missing}");
        eprintln!("SKIPPED the schema of AsyncAPI: {missing}");
        return;
    }
    let schema: Value = serde_json::from_slice(&std::fs::read(suite.join(SCHEMA)).unwrap()).unwrap();

    let faults = faults_by_draft_7(&schema, &STREAMS);

    assert_eq!(faults, [""; 0]);
    let mut wrong = STREAMS.clone();
    wrong["operations"]["sendAlarms"]["action"] = "publish".into();
    assert!(!faults_by_draft_7(&schema, &wrong).is_empty(), "the schema accepts anything");
}

#[test]
fn references_in_the_document_of_streams_lead_somewhere() {
    let mut count = 0;
    each_object("", &STREAMS, &mut |place, object| {
        let Some(reference) = object.get("$ref").and_then(Value::as_str) else { return };
        let target = reference.strip_prefix('#').and_then(|target| STREAMS.pointer(target));
        assert!(target.is_some(), "{place}: nothing is at {reference}");
        count += 1;
    });
    assert!(count > 100, "{count}");
    for (name, operation) in STREAMS["operations"].as_object().unwrap() {
        let channel = operation["channel"]["$ref"].as_str().unwrap();
        for message in operation["messages"].as_array().unwrap() {
            let message = message["$ref"].as_str().unwrap();
            assert!(message.starts_with(&format!("{channel}/messages/")), "{name}: {message}");
        }
    }
    for (name, message) in STREAMS["components"]["messages"].as_object().unwrap() {
        for example in message["examples"].as_array().into_iter().flatten() {
            check_message(name, &example["payload"]);
        }
    }
}

/// Returns the first segment of the channels of a resource. A new resource does not compile without its line here.
fn word(resource: Resource) -> &'static str {
    match resource {
        Resource::ManagedObjects => "managedobjects",
        Resource::Measurements => "measurements",
        Resource::Events => "events",
        Resource::Alarms => "alarms",
        Resource::Operations => "operations",
    }
}

#[test]
fn document_of_streams_has_the_channels_of_the_server_with_their_roles() {
    let (mut own, mut groups, mut families) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (name, channel) in STREAMS["channels"].as_object().unwrap() {
        let Some(address) = channel["address"].as_str().filter(|address| !address.starts_with("/meta/"))
        else {
            continue;
        };
        let servers = channel["servers"].to_string();
        let endpoint = match servers.contains("/operations") {
            true => Endpoint::Operations,
            false => Endpoint::Realtime,
        };
        if servers.contains("/requests") {
            let item = &REFERENCE["paths"][address];
            assert!(item.is_object(), "{name}: {address} is no path of the API");
            continue;
        }
        let example = address.replace("{id}", "208").replace("{agent}", "208").replace(['{', '}'], "");
        let pattern = Pattern::parse(endpoint, &example).unwrap_or_else(|| panic!("{name}: {example}"));
        let operation = STREAMS["operations"].as_object().unwrap().values().find(|operation| {
            operation["channel"]["$ref"] == format!("#/channels/{name}") && operation["action"] == "send"
        });
        assert_eq!(operation.unwrap()["x-required-roles"], json!([pattern.role()]), "{name}");
        match pattern {
            Pattern::Exact(channel) => drop(own.insert(word(channel.resource))),
            Pattern::Group(channel) => drop(groups.insert(word(channel.resource))),
            Pattern::WithChildren(channel) => drop(families.insert(word(channel.resource))),
            _ => {}
        }
    }
    assert_eq!((own.len(), &groups), (Resource::COUNT, &own));
    // A first segment is that of a family exactly if no wildcard of it exists.
    let has_family =
        |word: &&&str| Pattern::parse(Endpoint::Realtime, &format!("/{word}WithChildren/*")).is_none();
    assert_eq!(families, own.iter().filter(has_family).copied().collect());
}

#[test]
fn document_of_streams_has_every_address_of_bayeux_and_the_requests_of_consumers() {
    let mut served = BTreeSet::new();
    for server in STREAMS["servers"].as_object().unwrap().values() {
        served.extend(server["pathname"].as_str());
        served
            .extend(server["x-deprecated-paths"].as_array().into_iter().flatten().filter_map(Value::as_str));
    }
    let with_id = |path: &str, id: &str| {
        REFERENCE["paths"][path]["get"]["operationId"].as_str().is_some_and(|known| known.starts_with(id))
    };
    let paths = REFERENCE["paths"].as_object().unwrap().keys().map(String::as_str);
    let bayeux: BTreeSet<&str> =
        paths.clone().filter(|path| with_id(path, "openSocket")).chain(["/"]).collect();
    assert_eq!(served, bayeux);

    let bound = STREAMS["operations"].as_object().unwrap().values();
    let bound: BTreeSet<&str> = bound.filter_map(|operation| operation["x-operation-id"].as_str()).collect();
    let streams: BTreeSet<&str> = paths
        .filter(|path| with_id(path, "readNotifications") || with_id(path, "streamNotifications"))
        .collect();
    assert_eq!((bound.len(), streams.len()), (2, 2), "{bound:?} {streams:?}");
}

/// Creates, changes and deletes one object of each kind.
async fn change_everything(admin: &Caller, agent: &str) {
    let device = admin.create_device("valve").await;
    let object = format!("{OBJECTS}/{device}");
    admin.put(&object, &json!({"name": "old valve"})).await.expect(200);
    let alarm = admin.raise_alarm(&device, "leak").await;
    let alarm = format!("{ALARMS}/{}", alarm["id"].as_str().unwrap());
    admin.put(&alarm, &json!({"status": "ACKNOWLEDGED"})).await.expect(200);
    admin.delete(&format!("{ALARMS}?source={device}")).await.expect(204);
    let event = admin.create_event(&device, "door").await;
    let event = format!("{EVENTS}/{}", event["id"].as_str().unwrap());
    admin.put(&event, &json!({"text": "It is open"})).await.expect(200);
    admin.delete(&event).await.expect(204);
    let measurement = measurement_of(&device, "2024-03-10T02:30:00.000Z", 7);
    let measurement = admin.create(MEASUREMENTS, &measurement).await;
    admin.delete(&format!("{MEASUREMENTS}/{}", measurement["id"].as_str().unwrap())).await.expect(204);
    let operation = operations::queue(admin, agent).await;
    operations::change(admin, &operation, json!({"status": "EXECUTING"})).await;
    admin.delete(&format!("/devicecontrol/operations?deviceId={agent}")).await.expect(204);
    admin.delete(&object).await.expect(204);
}

/// Every kind of change of every kind of object, which [`change_everything`] causes.
fn all_changes() -> BTreeSet<String> {
    let of = |word: &'static str| {
        let actions = ["CREATE", "UPDATE", "DELETE"].into_iter();
        actions
            .filter(move |action| (word, *action) != ("measurements", "UPDATE"))
            .map(move |action| (word, action))
    };
    let words = ["managedobjects", "measurements", "events", "alarms", "operations"].into_iter();
    words.flat_map(of).map(|(word, action)| format!("{word} {action}")).collect()
}

fn change_of(channel: &str, data: &Value) -> String {
    let word = channel.split('/').nth(1).unwrap();
    format!("{word} {}", data["realtimeAction"].as_str().unwrap_or("row"))
}

#[tokio::test]
async fn what_clients_receive_is_as_the_document_of_streams_says() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("pump").await;
    let text = "module watch;\n@Name('seen')\nselect m.measurement.source.value as source from MeasurementCreated m;\n";
    modules::deploy(&admin, text).await;
    let session = admin.listen("/watch/seen").await;
    let mut expected = all_changes();
    for word in ["managedobjects", "measurements", "events", "alarms", "operations"] {
        assert_eq!(session.subscribe(&format!("/{word}/*")).await["successful"], true);
    }
    for word in ["alarmsWithChildren", "eventsWithChildren"] {
        assert_eq!(session.subscribe(&format!("/{word}/{agent}")).await["successful"], true);
        expected.insert(format!("{word} CREATE"));
    }
    expected.insert("watch row".to_owned());
    let of_agent = admin.session().await.on("/notification/operations");
    assert_eq!(of_agent.subscribe(&format!("/{agent}")).await["successful"], true);

    change_everything(&admin, &agent).await;
    admin.raise_alarm(&agent, "leak").await;
    admin.create_event(&agent, "door").await;

    while !expected.is_empty() {
        for notification in session.receive(1).await {
            let channel = notification["channel"].as_str().unwrap();
            let (name, known) = channel_of(channel).unwrap();
            let message = known["messages"].as_object().unwrap().keys().next().unwrap();
            assert!(!name.starts_with("meta"), "{channel}");
            check_message(message, &notification);
            expected.remove(&change_of(channel, &notification["data"]));
        }
    }
    let operation = of_agent.receive(1).await.remove(0);
    check_message("AgentOperation", &operation);
    assert_eq!(channel_of(operation["channel"].as_str().unwrap()).unwrap().0, "agent");
    for reply in session.connect_with(json!({"advice": {"timeout": 0}})).await {
        check_message("BayeuxResponse", &reply);
    }
}

/// A stream of server-sent events.
struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    async fn open(admin: &Caller, consumer: &str) -> Self {
        let path = format!("/notification/consumers/{consumer}/events");
        let response = admin.request("GET", &path).header("Accept", "text/event-stream").head().await;
        assert_eq!(response.headers()["Content-Type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// Returns the name and the content of the next event that has a content.
    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines().filter_map(|line| line.split_once(": "));
                    lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
                };
                let (name, data) = (field("event").unwrap_or_default(), field("data"));
                self.text = rest.to_owned();
                if let Some(data) = data {
                    return (name, serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let chunk = soon("an event", self.response.chunk()).await.unwrap().expect("the stream goes on");
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

#[tokio::test]
async fn what_consumers_receive_is_as_the_document_of_streams_says() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("pump").await;
    let all = ["managedobjects", "measurements", "events", "alarms", "operations"];
    let channels = all.map(|word| format!("/{word}/*"));
    admin.create("/notification/consumers", &json!({"name": "all", "channels": channels})).await;
    change_everything(&admin, &agent).await;

    let batch = admin.read("/notification/consumers/all/notifications?maxCount=1000").await;
    check_message("NotificationBatch", &batch);
    let mut expected = all_changes();
    for notification in batch["notifications"].as_array().unwrap() {
        let channel = notification["channel"].as_str().unwrap();
        let whole = json!({"channel": channel, "data": notification["data"]});
        let (_, known) = channel_of(channel).unwrap();
        check_message(known["messages"].as_object().unwrap().keys().next().unwrap(), &whole);
        expected.remove(&change_of(channel, &notification["data"]));
    }
    assert!(expected.is_empty(), "{expected:?}");

    let mut events = Events::open(&admin, "all").await;
    for notification in batch["notifications"].as_array().unwrap() {
        let (name, event) = events.next().await;
        check_message("ConsumerNotification", &event);
        assert_eq!((&*name, &event), ("", notification));
    }
    admin.read("/notification/consumers/all/notifications").await;
    let (name, event) = events.next().await;
    assert_eq!(name, "superseded");
    check_message("ConsumerSuperseded", &event);

    let consumer = json!({"ext": {"com.platform.consumer": {"name": "all"}, "ack": true}});
    let session = admin.session_with(consumer).await;
    let told = session.glance_until_told().await;
    for (told, notification) in notifications(&told).iter().zip(batch["notifications"].as_array().unwrap()) {
        let (_, known) = channel_of(told["channel"].as_str().unwrap()).unwrap();
        check_message(known["messages"].as_object().unwrap().keys().next().unwrap(), told);
        assert_eq!(told["ext"]["com.platform.consumer"]["position"], notification["position"]);
    }
}

#[tokio::test]
async fn gap_of_a_consumer_is_as_the_document_of_streams_says() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let consumer = json!({"name": "small", "channels": ["/events/*"], "maxBytes": 65536});
    admin.create("/notification/consumers", &consumer).await;
    let mut event = event_of(&device, "long");
    event["acme_Long"] = "x".repeat(40_000).into();
    for _ in 0..2 {
        admin.create(EVENTS, &event).await;
    }
    until("the lapse", async || admin.read("/notification/consumers/small").await["state"] == "LAPSED").await;

    let batch = admin.read("/notification/consumers/small/notifications").await;
    check_message("NotificationBatch", &batch);
    assert_eq!((&batch["recovered"], &batch["missed"]["from"]), (&json!(false), &json!(1)));
    // The alarm about the lapse, and the object that has it, may be missing, too.
    assert!(batch["missed"]["to"].as_i64().unwrap() >= 2, "{batch}");
    let (name, gap) = Events::open(&admin, "small").await.next().await;
    assert_eq!(name, "gap");
    check_message("ConsumerGap", &gap);
}

#[tokio::test]
async fn document_of_streams_is_served_to_everyone() {
    let (_server, stranger) = TestServer::shared().await.with_stranger();
    assert_eq!(stranger.get("/asyncapi.json").await.expect(200).json(), *STREAMS);
}

#[tokio::test]
async fn lists_before_changes_are_as_the_document_of_streams_says() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("pump").await;
    admin.raise_alarm(&agent, "leak").await;
    admin.create_event(&agent, "door").await;
    operations::queue(&admin, &agent).await;
    for (word, list) in [
        ("managedobjects", "managedObjects"),
        ("events", "events"),
        ("alarms", "alarms"),
        ("operations", "operations"),
    ] {
        let session = admin.session().await;
        let extension = json!({"com.platform.snapshot": {list: "pageSize=2000"}});
        let subscription = json!({"subscription": format!("/{word}/*"), "ext": extension});
        assert_eq!(session.ask("/meta/subscribe", subscription).await["successful"], true);
        let told = session.receive(2).await;
        let actions: Vec<_> =
            told.iter().map(|told| told["data"]["realtimeAction"].as_str().unwrap()).collect();
        assert_eq!(actions, ["SNAPSHOT", "SNAPSHOT_END"], "{list}");
        for told in &told {
            let (_, known) = channel_of(told["channel"].as_str().unwrap()).unwrap();
            check_message(known["messages"].as_object().unwrap().keys().next().unwrap(), told);
        }
    }
}
