//! Series by buckets from rollups equal those without rollups (G-07).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use platform_front::config::Settings;
use serde_json::Map;

use super::*;

/// Starts a server that rolls up series as soon as they are read.
async fn eager() -> TestServer {
    TestServer::start_with(eagerly).await
}

fn eagerly(settings: &mut Settings) {
    settings.limits.rollup_rows = 0;
    settings.limits.rollup_lag = Duration::ZERO;
}

/// Rolls up each series that is read while others are written. A write has this time between its ids and the begin of
/// its transaction, and less would be too little on a busy machine.
fn beside_writers(settings: &mut Settings) {
    settings.limits.rollup_rows = 0;
    settings.limits.rollup_lag = Duration::from_millis(500);
}

fn id_of(measurement: &Value) -> i64 {
    measurement["id"].as_str().unwrap().parse().unwrap()
}

async fn mark(database: &TestDatabase, device: &str) -> Option<i64> {
    let statement = "SELECT rolled FROM measurement_rollup_marks WHERE source = $1";
    let rows = database.query(statement, &[&device.parse::<i64>().unwrap()]).await;
    rows.first().map(|row| row.get(0))
}

/// Reads a series until everything is rolled up to this measurement. The status of a read does not matter, because one
/// may get a connection that was closed a moment ago.
async fn rolled_up(server: &TestServer, device: &str, last: i64) {
    until("rollups", async || {
        server.admin().get(&series_of(device, "&aggregationType=HOURLY")).await;
        mark(server.database(), device).await > Some(last)
    })
    .await;
}

async fn hourly(server: &TestServer, device: &str) -> String {
    server.admin().read(&series_of(device, "&aggregationType=HOURLY")).await["values"].to_string()
}

/// Pseudo-random numbers that are the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as i64
    }
}

/// A measurement as the test remembers it.
#[derive(Clone)]
struct Sent {
    id: i64,
    /// Seconds since the first of March.
    time: i64,
    /// Minutes.
    zone: i64,
    /// `a.x`, `a.y` and `b.z`.
    numbers: [Option<i64>; 3],
}

/// The time that a clock shows.
fn shown(time: i64, zone: i64, second: &str) -> String {
    let local = time + zone * 60;
    let (day, second_of_day) = (local.div_euclid(86_400) + 1, local.rem_euclid(86_400));
    let (hour, minute) = (second_of_day / 3600, second_of_day / 60 % 60);
    let sign = if zone < 0 { '-' } else { '+' };
    let offset = match zone {
        0 => "Z".to_owned(),
        _ => format!("{sign}{:02}:{:02}", zone.abs() / 60, zone.abs() % 60),
    };
    let second = second.replace("SS", &format!("{:02}", second_of_day % 60));
    format!("2024-03-{day:02}T{hour:02}:{minute:02}:{second}{offset}")
}

/// Returns the expected series by buckets.
fn expected(sent: &[Sent], times: RangeInclusive<i64>, stride: i64) -> Value {
    let mut buckets: BTreeMap<i64, Vec<&Sent>> = BTreeMap::new();
    for measurement in sent.iter().filter(|sent| times.contains(&sent.time)) {
        let local = measurement.time + measurement.zone * 60;
        buckets.entry(local.div_euclid(stride)).or_default().push(measurement);
    }
    let slot = |(bucket, measurements): (i64, Vec<&Sent>)| {
        let zone = measurements.iter().map(|sent| (sent.time, sent.zone)).min().unwrap().1;
        let pairs = (0..3).map(|at| {
            let numbers: Vec<i64> = measurements.iter().filter_map(|sent| sent.numbers[at]).collect();
            numbers.iter().min().map(|least| json!({"min": least, "max": numbers.iter().max()}))
        });
        (shown(bucket * stride - zone * 60, zone, "SS.000"), json!(pairs.collect::<Vec<_>>()))
    };
    Value::Object(buckets.into_iter().map(slot).collect::<Map<_, _>>())
}

fn chosen(chance: &mut Chance, sent: &mut Sent) -> Value {
    sent.time = 86_400 * 9 + chance.below(86_400 * 3);
    // Most devices use one time zone, some two, few any.
    sent.zone = [60, 60, 60, 120, 0, -570, 345][chance.below(7) as usize];
    let mut number = || Some(chance.below(2000) - 1000);
    sent.numbers = [number(), number(), number()];
    let mut body = match chance.below(3) {
        0 => {
            (sent.numbers[1], sent.numbers[2]) = (None, None);
            json!({"a": {"x": {"value": sent.numbers[0]}}})
        }
        1 => {
            sent.numbers[2] = None;
            json!({"a": {"y": {"value": sent.numbers[1]}, "x": {"value": sent.numbers[0]}}})
        }
        _ => {
            sent.numbers[1] = None;
            json!({"b": {"z": {"value": sent.numbers[2]}}, "a": {"x": {"value": sent.numbers[0]}}})
        }
    };
    body["type"] = json!("t");
    body["time"] = json!(shown(sent.time, sent.zone, "SS"));
    body
}

/// Sends `count` measurements in one request and adds them to `sent`.
async fn send(server: &TestServer, device: &str, chance: &mut Chance, count: usize, sent: &mut Vec<Sent>) {
    let mut fresh = vec![Sent { id: 0, time: 0, zone: 0, numbers: [None; 3] }; count];
    let bodies: Vec<Value> = fresh
        .iter_mut()
        .map(|sent| {
            let mut body = chosen(chance, sent);
            body["source"] = json!({"id": device});
            body
        })
        .collect();
    let stored = server.admin().create(MEASUREMENTS, &json!({"measurements": bodies})).await;
    for (sent, stored) in fresh.iter_mut().zip(stored["measurements"].as_array().unwrap()) {
        sent.id = id_of(stored);
    }
    sent.extend(fresh);
}

async fn compare(server: &TestServer, device: &str, chance: &mut Chance, sent: &[Sent]) {
    let start = 86_400 * 9;
    let mut ranges = vec![(0, 86_400 * 20), (start, start + 3600), (start + 1800, start + 1860)];
    for _ in 0..5 {
        let from = start + chance.below(86_400 * 2);
        ranges.push((from, from + chance.below(86_400)));
    }
    // The bounds are part of the range.
    let some = sent[chance.below(sent.len() as i64) as usize].time;
    ranges.extend([(some, some), (some, some + 7200), (some - 7200, some)]);
    for (range, (aggregation, stride)) in
        ranges.into_iter().flat_map(|range| [(range, ("DAILY", 86_400)), (range, ("HOURLY", 3600))])
    {
        // A bound is an instant, whatever its time zone is.
        let zone = [0, 120, 330][chance.below(3) as usize];
        let (from, to) = (shown(range.0, zone, "SS"), shown(range.1, zone, "SS"));
        let series = "series=a.x&series=a.y&series=b.z";
        let path = format!(
            "{MEASUREMENTS}/series?source={device}&dateFrom={from}&dateTo={to}&aggregationType={aggregation}&{series}"
        );
        let answer = server.admin().read(&path).await;
        assert_eq!(answer["values"], expected(sent, range.0..=range.1, stride), "{path}");
    }
}

#[tokio::test]
async fn series_say_the_same_with_rollups_as_without() {
    let server = TestServer::start_with(beside_writers).await;
    // This server does not roll up, and reads the rollups of the other one.
    let other = TestServer::start_on(&server.shared_database(), |_| {}).await;
    same(&server, &other, &mut Chance(4711), async |device| {
        // Only this source has measurements, so there are no rollups at all.
        assert_eq!(mark(server.database(), device).await, None);
        assert_eq!(server.count("measurement_rollups").await, 0);
    })
    .await;
}

#[tokio::test]
async fn series_say_the_same_while_two_servers_roll_up_all_the_time() {
    let server = TestServer::start_with(beside_writers).await;
    let other = TestServer::start_on(&server.shared_database(), beside_writers).await;
    same(&server, &other, &mut Chance(815), async |_| {}).await;
}

#[tokio::test]
async fn series_say_the_same_while_a_fleet_sends_much_more() {
    let server = TestServer::start_with(beside_writers).await;
    let fleet = server.admin().create_device("fleet").await;
    let statement = "INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings) \
        SELECT 'main', first_id(now() + interval '1 hour') + n, $1, now(), now()::timestamp, 1, '{1}' \
        FROM generate_series(1, 3000) n";
    server.database().execute(statement, &[&fleet.parse::<i64>().unwrap()]).await;
    same(&server, &server, &mut Chance(31), async |_| {}).await;
}

/// Compares series with the sent measurements, some of which are rolled up, late or deleted at random.
async fn same(server: &TestServer, other: &TestServer, chance: &mut Chance, deleted: impl AsyncFn(&str)) {
    let device = server.admin().create_device("pump").await;
    let mut sent = Vec::new();
    for round in 0..6 {
        let by = if round % 2 == 0 { server } else { other };
        send(by, &device, chance, 150, &mut sent).await;
        compare(other, &device, chance, &sent).await;
        let last = sent.iter().map(|sent| sent.id).max().unwrap();
        rolled_up(server, &device, last).await;
        compare(other, &device, chance, &sent).await;
        // Late measurements may have any time.
        send(by, &device, chance, 10, &mut sent).await;
        compare(other, &device, chance, &sent).await;
        match round {
            2 => {
                for _ in 0..5 {
                    let gone = sent.swap_remove(chance.below(sent.len() as i64) as usize);
                    let path = format!("{MEASUREMENTS}/{}", gone.id);
                    assert_eq!(other.admin().delete(&path).await.status, 204);
                    deleted(&device).await;
                    compare(other, &device, chance, &sent).await;
                }
            }
            4 => {
                let range = 86_400 * 10..=86_400 * 10 + 30_000;
                let (from, to) = (shown(*range.start(), 0, "SS"), shown(*range.end(), 0, "SS"));
                let path = format!("{MEASUREMENTS}?source={device}&dateFrom={from}&dateTo={to}");
                assert_eq!(other.admin().delete(&path).await.status, 204);
                sent.retain(|sent| !range.contains(&sent.time));
                deleted(&device).await;
                compare(other, &device, chance, &sent).await;
            }
            _ => {}
        }
    }
}

/// Creates two measurements in one hour and one in the next, without a rollup. Returns the device and the measurements.
async fn three(server: &TestServer) -> (String, Vec<Value>) {
    let admin = server.admin();
    let device = admin.create_device("pump").await;
    let mut measured = Vec::new();
    for (minute, value) in [("00:10", 3), ("00:20", 8), ("01:10", 5)] {
        measured.push(measure(&admin, &device, &format!("2024-03-10T{minute}:00Z"), value).await);
    }
    (device, measured)
}

const THREE: &str =
    r#"{"2024-03-10T00:00:00.000Z":[{"min":3,"max":8}],"2024-03-10T01:00:00.000Z":[{"min":5,"max":5}]}"#;

/// Makes the rollup wait in its middle until the returned client is dropped.
async fn hold(database: &TestDatabase) -> tokio_postgres::Client {
    for statement in [
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$",
        "CREATE TRIGGER wait AFTER INSERT ON measurement_rollups FOR EACH ROW EXECUTE FUNCTION wait()",
    ] {
        database.execute(statement, &[]).await;
    }
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.execute("SELECT pg_advisory_lock(4711)", &[]).await.unwrap();
    client
}

/// Waits until this many connections wait for a lock and returns the process of one that inserts rollups.
async fn held(database: &TestDatabase, waiting: usize) -> i32 {
    let statement = "SELECT pid, query LIKE 'INSERT INTO measurement_rollups%' FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock' ORDER BY 2 DESC";
    eventually("connections that wait for a lock", async || {
        let found = database.query(statement, &[]).await;
        (found.len() == waiting && found[0].get::<_, bool>(1)).then(|| found[0].get(0))
    })
    .await
}

#[tokio::test]
async fn rolling_up_that_is_stopped_in_the_middle_has_changed_nothing() {
    let server = eager().await;
    let (device, measured) = three(&server).await;
    let hold = hold(server.database()).await;
    assert_eq!(hourly(&server, &device).await, THREE);
    let process = held(server.database(), 1).await;

    server.database().query("SELECT pg_terminate_backend($1)", &[&process]).await;
    // A read may still get the closed connection.
    let path = series_of(&device, "&aggregationType=HOURLY");
    let answer = eventually("an answer", async || {
        let answer = server.admin().get(&path).await;
        (answer.status == 200).then(|| answer.json())
    })
    .await;
    assert_eq!(answer["values"].to_string(), THREE);
    assert_eq!(server.count("measurement_rollups").await, 0);

    drop(hold);
    rolled_up(&server, &device, id_of(&measured[2])).await;
    assert_eq!(server.count("measurement_rollups").await, 2);
    assert_eq!(hourly(&server, &device).await, THREE);
}

#[tokio::test]
async fn deletion_and_rolling_up_at_the_same_time_leave_no_deleted_number() {
    let server = eager().await;
    let (device, measured) = three(&server).await;
    let hold = hold(server.database()).await;
    hourly(&server, &device).await;
    held(server.database(), 1).await;

    let path = measured[1]["self"].as_str().unwrap().to_owned();
    let admin = server.admin();
    let deletion = tokio::spawn(async move { admin.delete(&path).await.status });
    held(server.database(), 2).await;
    assert_eq!(hourly(&server, &device).await, THREE);
    drop(hold);

    assert_eq!(soon("the deletion", deletion).await.unwrap(), 204);
    let left = THREE.replace("8", "3");
    assert_eq!(hourly(&server, &device).await, left);
    rolled_up(&server, &device, id_of(&measured[2])).await;
    assert_eq!(hourly(&server, &device).await, left);
}

#[tokio::test]
async fn rollups_go_with_their_device() {
    let server = eager().await;
    let (device, measured) = three(&server).await;
    rolled_up(&server, &device, id_of(&measured[2])).await;

    server.admin().delete(&format!("/inventory/managedObjects/{device}")).await.expect(204);

    assert_eq!(mark(server.database(), &device).await, None);
    assert_eq!(server.count("measurement_rollups").await, 0);
}

#[tokio::test]
async fn few_measurements_are_not_rolled_up() {
    let server = TestServer::start_with(|settings| {
        settings.limits.rollup_rows = 3;
        settings.limits.rollup_lag = Duration::ZERO;
    })
    .await;
    let (device, _) = three(&server).await;
    assert_eq!(hourly(&server, &device).await, THREE);
    assert_eq!(mark(server.database(), &device).await, None);

    let fourth = measure(&server.admin(), &device, "2024-03-10T01:20:00Z", 5).await;

    rolled_up(&server, &device, id_of(&fourth)).await;
    assert_eq!(hourly(&server, &device).await, THREE);
}
