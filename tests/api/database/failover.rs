//! A primary with a streaming standby: the server finds the one that accepts writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use platform_model::limits::Limits;
use platform_store::{Connections, Database};

use super::*;

const RULES: &str = "host all all 127.0.0.1/32 trust\n";
/// The time within which writes succeed again after a promotion.
const BACK: Duration = Duration::from_secs(10);

/// Starts a primary, and a synchronous standby, which receives each commit before it is acknowledged.
async fn pair() -> (Cluster, Cluster) {
    let primary = Cluster::start("", RULES);
    let standby = primary.standby();
    let database = TestDatabase::at(&primary.url(), primary.directory());
    primary.write("postgresql.auto.conf", "synchronous_standby_names = 'standby'\n");
    primary.reload();
    until("a synchronous standby", async || {
        let statement = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
        database.query(statement, &[]).await.len() == 1
    })
    .await;
    (primary, standby)
}

#[tokio::test]
async fn promoted_standby_has_every_acknowledged_write_and_takes_new_ones_within_ten_seconds() {
    let (primary, standby) = pair().await;
    // The standby is listed first, so the server must skip it at its start.
    let url = format!(
        "postgres://platform@127.0.0.1:{},127.0.0.1:{}/platform?target_session_attrs=read-write",
        standby.port(),
        primary.port()
    );
    let server = TestServer::start_on(&TestDatabase::at(&url, primary.directory()), |_| {}).await;
    let (server, admin, device) = server.with_device("pump").await;
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (admin, device, done) = (admin.clone(), device.clone(), done.clone());
            tokio::spawn(async move {
                let mut acknowledged = Vec::new();
                for n in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let alarm = alarm_of(&device, &format!("type {writer} {n}"));
                    let answer = admin.post("/alarm/alarms", &alarm).await;
                    match answer.status {
                        201 => acknowledged.push(answer.json()["id"].as_str().unwrap().to_owned()),
                        503 => {
                            assert!(answer.header("Retry-After").is_some(), "{}", answer.text);
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                        other => panic!("{other}: {}", answer.text),
                    }
                }
                acknowledged
            })
        })
        .collect();
    let count = async || {
        let list = admin.get("/alarm/alarms?pageSize=1&withTotalPages=true").await;
        list.json()["statistics"]["totalPages"].as_u64().unwrap_or_default()
    };
    until("some alarms", async || count().await > 100).await;

    primary.crash();
    standby.promote();

    let promoted = Instant::now();
    let (path, change) = (format!("/inventory/managedObjects/{device}"), json!({"name": "motor"}));
    until_within(BACK, "a write at the new primary", async || {
        let changed = admin.put(&path, &change).await;
        let raised = admin.post("/alarm/alarms", &alarm_of(&device, "after")).await;
        changed.status == 200 && raised.status == 201
    })
    .await;
    println!("writes succeed {:?} after the promotion", promoted.elapsed());
    done.store(true, Ordering::Relaxed);
    let mut stored = Vec::new();
    for page in 1.. {
        let list = admin.read(&format!("/alarm/alarms?pageSize=2000&currentPage={page}")).await;
        let found = ids(&list, "alarms");
        if found.is_empty() {
            break;
        }
        stored.extend(found);
    }
    let mut acknowledged = 0;
    for writer in writers {
        for id in within(Duration::from_secs(30), "the end of a writer", writer).await.unwrap() {
            acknowledged += 1;
            let there = stored.contains(&id) || admin.get(&format!("/alarm/alarms/{id}")).await.status == 200;
            assert!(there, "alarm {id} was acknowledged and is lost");
        }
    }
    assert!(acknowledged > 100, "{acknowledged}");
    server.stranger().get("/health/ready").await.expect(200);
}

#[tokio::test]
async fn host_that_hangs_costs_its_share_of_the_time_once() {
    let cluster = Cluster::start("", RULES);
    // The host accepts connections and sends nothing, as when its PostgreSQL is paused.
    let hung = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "postgres://platform@127.0.0.1:{},127.0.0.1:{}/platform",
        hung.local_addr().unwrap().port(),
        cluster.port()
    );
    let connections = Connections { reads: 1, devices: 1 };
    let database = Database::new(&url, connections, &Limits::default()).unwrap();

    let begun = Instant::now();
    database.migrate().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(2), "the first host was tried");
    let begun = Instant::now();
    database.agreed("anything").await.unwrap();

    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "then the one that answered is first: {:?}",
        begun.elapsed()
    );
}
