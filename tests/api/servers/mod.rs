//! Several servers on one database: their slots, and the commands for operators.

mod commands;
mod connections;
mod slots;
mod stop;

use crate::harness::prelude::*;

/// Returns the slots of the living servers, in order.
async fn slots(database: &TestDatabase) -> Vec<i16> {
    let statement = "SELECT slot FROM servers WHERE leased_until > now() ORDER BY slot";
    database.query(statement, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// Creates an object and returns the slot in its id.
async fn slot_of_new_object(admin: &Caller) -> i64 {
    let id: i64 = admin.create_device("pump").await.parse().unwrap();
    id >> 12 & 0xff
}
