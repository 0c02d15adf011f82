//! Upgrades: this program starts on a database of each earlier schema, and the rows that servers of that time wrote are
//! still readable.

mod rows;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use platform_front::secrets::password::SecretKey;
use platform_store::schema::restoration::newest_schema;
use refinery_core::{Migration, Runner, Target, load_sql_migrations};
use rows::{DEVICE, ROWS};
use tokio_postgres::NoTls;

use crate::harness::prelude::*;

fn migrations() -> Vec<Migration> {
    load_sql_migrations(Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/migrations")).unwrap()
}

/// Creates a database with the schema of this version and rows of its time.
async fn database_of(version: i32) -> Arc<TestDatabase> {
    let database = TestDatabase::create_empty().await;
    let (mut client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let runner = Runner::new(&migrations()).set_target(Target::Version(version));
    runner.run_async(&mut client).await.unwrap();
    let key = SecretKey::load(&database.data_dir().join("secret.key")).unwrap().unwrap();
    for rows in ROWS.iter().filter(|rows| rows.versions.contains(&version)) {
        let statements = rows.statements.replace("$password", &key.hash(ADMIN_PASSWORD));
        let inserted = client.batch_execute(&statements).await;
        inserted.unwrap_or_else(|error| panic!("V{version}: {statements}: {error:?}"));
    }
    database
}

/// Upgrades databases of these versions, reads their rows, and writes new ones.
async fn upgrade(versions: RangeInclusive<i32>) {
    for version in versions {
        let database = database_of(version).await;
        let server = TestServer::try_start_on(&database, |_| {});
        let server = server.unwrap_or_else(|error| panic!("from V{version}: {error}"));
        let admin = server.admin();
        let mut wrong = Vec::new();
        for rows in ROWS.iter().filter(|rows| rows.versions.contains(&version)) {
            for (path, member, expected) in rows.read {
                let response = admin.get(path).await;
                if response.status != 200 {
                    wrong.push(format!("{path}: {} {}", response.status, response.text));
                    continue;
                }
                let found = match *member {
                    "" => response.text,
                    member => response.json().pointer(member).map(ToString::to_string).unwrap_or_default(),
                };
                if found != *expected {
                    wrong.push(format!("{member} of {path}: {found} instead of {expected}"));
                }
            }
        }
        assert!(wrong.is_empty(), "from V{version}: {wrong:#?}");
        write(&admin, version).await;
    }
}

/// Checks that requests can change old rows and add new ones.
async fn write(admin: &Caller, version: i32) {
    let again = admin.create("/alarm/alarms", &alarm_of(DEVICE, "leak")).await;
    assert_eq!((&again["id"], &again["count"]), (&json!("201"), &json!(3)), "from V{version}");
    let measurement = measurement_of(DEVICE, "2026-04-01T00:00:00Z", 7);
    admin.create("/measurement/measurements", &measurement).await;
    let operation = json!({"deviceId": DEVICE, "plat_Restart": {}});
    admin.create("/devicecontrol/operations", &operation).await;
    let device = admin.create_device("new").await;
    assert!(device.parse::<i64>().unwrap() > 1_000_000, "from V{version}: {device}");
    let user = json!({"userName": "new", "password": "new-secret"});
    assert_eq!(admin.post("/user/main/users", &user).await.status, 201, "from V{version}");
}

// Three tests, which run at the same time. The last one also tests all future versions.

#[tokio::test]
async fn databases_of_v01_to_v11_keep_their_data() {
    upgrade(1..=11).await;
}

#[tokio::test]
async fn databases_of_v12_to_v22_keep_their_data() {
    upgrade(12..=22).await;
}

#[tokio::test]
async fn databases_of_v23_to_the_newest_keep_their_data() {
    upgrade(23..=newest_schema().try_into().unwrap()).await;
}

/// Tables with rows that matter only to a running server.
const OF_RUNNING_SERVERS: [&str; 3] = ["refinery_schema_history", "presence", "moved_sessions"];

#[tokio::test]
async fn every_table_has_old_rows() {
    let database = database_of(newest_schema().try_into().unwrap()).await;
    let tables = "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition \
        AND relnamespace = 'public'::regnamespace ORDER BY 1";
    for table in database.query(tables, &[]).await {
        let table: String = table.get(0);
        let has_rows = database.count(&table).await > 0;
        assert!(has_rows || OF_RUNNING_SERVERS.contains(&table.as_str()), "{table} has none in rows.rs");
    }
}
