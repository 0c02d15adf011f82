//! The priority of slow statements of a tenant while other tenants are active.

use std::sync::Arc;

use platform_model::id::TenantId;
use platform_store::shares::{Charged, of_charged};
use platform_store::{Connection, Database};

use super::*;

/// A tenant with one user, whose requests take connections.
struct Tenant<'a>(&'a Database, Charged);

impl<'a> Tenant<'a> {
    fn new(database: &'a Database, name: &str) -> Self {
        Self(database, Charged { tenant: TenantId::parse(name).unwrap(), user: "u".into() })
    }

    async fn connection(&self) -> Connection {
        of_charged(self.1.clone(), self.0.reader()).await.unwrap()
    }

    /// Runs a statement that takes this many seconds, and returns the niceness of its backend.
    async fn run(&self, seconds: f64) -> i64 {
        let connection = self.connection().await;
        connection.execute("SELECT pg_sleep($1)", &[&seconds]).await.unwrap();
        niceness(&connection).await
    }
}

/// Returns the niceness of the backend of a connection.
async fn niceness(connection: &Connection) -> i64 {
    let backend: i32 = connection.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let stat = std::fs::read_to_string(format!("/proc/{backend}/stat")).unwrap();
    // The name of the program may contain spaces; the state follows its bracket, and the niceness 16 fields later.
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ').collect::<Vec<_>>();
    fields[16].parse().unwrap()
}

#[tokio::test]
async fn slow_statements_have_a_low_priority_beside_another_tenant_only() {
    let database = TestDatabase::create().await;
    let connections = platform_store::Connections { reads: 8, devices: 1 };
    let database = Database::new(database.url(), connections, &Default::default()).unwrap();
    let database = Arc::new(database.with_low_priority_of_slow_statements().unwrap());
    let (slow, fast) = (Tenant::new(&database, "slow"), Tenant::new(&database, "fast"));
    let usual = fast.run(0.0).await;
    slow.run(0.5).await;

    assert_eq!(slow.run(0.0).await, usual + 10, "another tenant is active");
    assert_eq!(niceness(&database.reader().await.unwrap()).await, usual, "it belongs to no tenant");

    let held = slow.connection().await;
    let other = Tenant::new(&database, "other");
    other.run(0.5).await;
    assert_eq!(other.run(0.0).await, usual, "the connection is in use, and nobody waits for it");
    drop(held);
    assert_eq!(other.run(0.0).await, usual + 10);

    until("no other tenant is active any more", async || slow.run(0.1).await == usual).await;
}
