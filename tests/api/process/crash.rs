//! `kill -9` under load: everything that got a 2xx response is stored exactly once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Signal;

use super::*;

const ADMIN: Option<(&str, &str)> = Some(("admin", "admin-secret"));
const CLIENTS: usize = 8;

fn serve(directory: &std::path::Path) -> Program {
    let mut command = Program::command(directory, &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    Program::serve_with(command)
}

/// The responses that one client received.
#[derive(Default)]
struct Told {
    /// Ids of alarms of types of their own, by type.
    unique: BTreeMap<String, String>,
    /// Highest count of the type that all clients share.
    shared_count: i64,
}

/// Posts, in turn, an alarm of a new type and one of a type that all clients share, until the server is gone.
async fn post_until_refused(
    caller: Caller,
    device: String,
    client: usize,
    answered: Arc<AtomicUsize>,
) -> Told {
    let mut told = Told::default();
    for n in 0.. {
        let kind = if n % 2 == 0 { format!("client {client} alarm {n}") } else { "shared".to_owned() };
        let request =
            caller.request("POST", "/alarm/alarms").accepting_json().json(&alarm_of(&device, &kind));
        let Some(answer) = request.try_send().await else { break };
        assert_eq!(answer.status, 201, "{}", answer.text);
        let alarm = answer.json();
        if n % 2 == 0 {
            told.unique.insert(kind, alarm["id"].as_str().unwrap().to_owned());
        } else {
            told.shared_count = told.shared_count.max(alarm["count"].as_i64().unwrap());
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    told
}

async fn all_alarms(caller: &Caller) -> Vec<Value> {
    let pages = caller.pages("/alarm/alarms?pageSize=2000").await;
    pages.iter().flat_map(|page| page["alarms"].as_array().unwrap().clone()).collect()
}

#[tokio::test]
async fn alarms_acknowledged_before_kill_9_are_there_exactly_once_after_the_restart() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            // Connections of their own, as real devices have.
            let caller = Caller::new(program.base(), ADMIN);
            tokio::spawn(post_until_refused(caller, device.clone(), client, answered.clone()))
        })
        .collect();
    until("some load", async || answered.load(Ordering::Relaxed) > 500).await;

    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(5)).await;
    let mut told = Vec::new();
    for client in clients {
        told.push(within(Duration::from_secs(20), "the end of a client", client).await.unwrap());
    }
    let restarted = serve(directory.path());

    let alarms = all_alarms(&Caller::new(restarted.base(), ADMIN)).await;
    let mut stored: BTreeMap<&str, Vec<(&str, i64)>> = BTreeMap::new();
    for alarm in &alarms {
        let (id, count) = (alarm["id"].as_str().unwrap(), alarm["count"].as_i64().unwrap());
        stored.entry(alarm["type"].as_str().unwrap()).or_default().push((id, count));
    }
    for (kind, id) in told.iter().flat_map(|told| &told.unique) {
        assert_eq!(stored.get(kind.as_str()), Some(&vec![(id.as_str(), 1)]), "{kind}");
    }
    let counted = told.iter().map(|told| told.shared_count).max().unwrap();
    let shared = &stored["shared"];
    assert_eq!(shared.len(), 1);
    // Each client had at most one request that was executed but not acknowledged.
    let most = counted + i64::try_from(CLIENTS).unwrap();
    assert!((counted..=most).contains(&shared[0].1), "{} of {counted}", shared[0].1);
}

#[tokio::test]
async fn kill_9_leaves_no_database_behind_that_hinders_the_next_start() {
    let directory = scratch_with_data();
    for _ in 0..3 {
        let mut program = serve(directory.path());
        program.signal(Signal::KILL);
        program.ended_within(Duration::from_secs(5)).await;
    }

    let program = serve(directory.path());

    assert_eq!(Caller::new(program.base(), ADMIN).get("/alarm/alarms").await.status, 200);
    // Nobody waits for the predecessor, which had its PostgreSQL for itself.
    let log = program.log();
    assert!(!log.contains("servers do not respond") && !log.contains("other servers"), "{log}");
}

#[tokio::test]
async fn database_that_is_killed_comes_back_by_itself() {
    let directory = scratch_with_data();
    let program = serve(directory.path());
    let admin = Caller::new(program.base(), ADMIN);
    let device = admin.create_device("pump").await;
    let first = admin.raise_alarm(&device, "hot").await;
    let pid_file = std::fs::read_to_string(directory.path().join("data/postgres/postmaster.pid")).unwrap();
    let postmaster = pid_file.lines().next().unwrap().parse().unwrap();

    rustix::process::kill_process(rustix::process::Pid::from_raw(postmaster).unwrap(), Signal::KILL).unwrap();

    let again = eventually("a write that succeeds", async || {
        let answer = admin.post("/alarm/alarms", &alarm_of(&device, "hot")).await;
        assert!([201, 503].contains(&answer.status), "{}", answer.text);
        (answer.status == 201).then(|| answer.json())
    })
    .await;
    assert_eq!(again["id"], first["id"]);
}

/// Posts an event of this number with its own idempotency key. Returns whether it was acknowledged.
async fn post_keyed(caller: &Caller, device: &str, client: usize, number: usize) -> bool {
    let key = format!("client {client} event {number}");
    let request = caller.request("POST", EVENTS).header("Idempotency-Key", &key);
    let response = request.accepting_json().json(&event_of(device, &key)).try_send().await;
    response.map(|response| response.expect(201)).is_some()
}

#[tokio::test]
async fn events_that_are_repeated_after_kill_9_are_stored_once() {
    let directory = scratch_with_data();
    let mut program = serve(directory.path());
    let device = Caller::new(program.base(), ADMIN).create_device("pump").await;
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (caller, device) = (Caller::new(program.base(), ADMIN), device.clone());
            let acknowledged = acknowledged.clone();
            tokio::spawn(async move {
                let mut number = 0;
                while post_keyed(&caller, &device, client, number).await {
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    number += 1;
                }
                number
            })
        })
        .collect();
    until("some load", async || acknowledged.load(Ordering::Relaxed) > 200).await;

    program.signal(Signal::KILL);
    program.ended_within(Duration::from_secs(5)).await;
    let restarted = serve(directory.path());

    let (admin, mut sent) = (Caller::new(restarted.base(), ADMIN), 0);
    for (client, last) in clients.into_iter().enumerate() {
        let last = within(Duration::from_secs(20), "the end of a client", last).await.unwrap();
        // The last one may be stored or not.
        for number in last.saturating_sub(10)..=last {
            assert!(post_keyed(&admin, &device, client, number).await);
        }
        sent += last + 1;
    }
    let events = admin.pages(&format!("{EVENTS}?source={device}&pageSize=2000")).await;
    let types = events.iter().flat_map(|page| page["events"].as_array().unwrap());
    let types: Vec<String> = types.map(|event| event["type"].to_string()).collect();
    let distinct: BTreeSet<&String> = types.iter().collect();
    assert_eq!((types.len(), distinct.len()), (sent, sent));
}
