//! A migrated database that is made a cell alone, or the directory alone. PostgreSQL itself then refuses what crosses
//! the line.

use std::fs::read_dir;
use std::path::Path;

use tokio_postgres::{Client, NoTls};

use super::*;

/// Drops everything but the tables of a cell, the stubs and the tables that each database has.
pub(super) async fn cell(sides: &Sides) -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    let stubs = sides.stubs();
    drop_dependents(&database, sides, Side::Directory).await;
    let gone = sides.tables(Side::Directory).into_iter().filter(|table| !stubs.contains_key(table));
    database.run_script(&format!("DROP TABLE {}", gone.collect::<Vec<_>>().join(", "))).await;
    for (table, columns) in stubs {
        let others = "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 \
            AND NOT attisdropped AND attname <> ALL($2)";
        let others = database.query(others, &[&table, &columns]).await;
        let drops: Vec<_> =
            others.iter().map(|row| format!("DROP COLUMN {}", row.get::<_, &str>(0))).collect();
        assert!(!drops.is_empty(), "a cell has all of {table}; then it is a table of `database`");
        database.run_script(&format!("ALTER TABLE {table} {}", drops.join(", "))).await;
    }
    database
}

/// Drops the tables of cells.
pub(super) async fn directory(sides: &Sides) -> Arc<TestDatabase> {
    let database = TestDatabase::create().await;
    drop_dependents(&database, sides, Side::Cell).await;
    for key in foreign_keys(&database).await {
        let excepted = sides.list("foreign keys across the line").contains_key(&key.name);
        if excepted && sides.is(&key.referenced, Side::Cell) {
            database.run_script(&format!("ALTER TABLE {} DROP CONSTRAINT {}", key.table, key.name)).await;
        }
    }
    database.run_script(&format!("DROP TABLE {}", sides.tables(Side::Cell).join(", "))).await;
    database
}

/// Drops the views and functions that depend on tables of one side. Those that depend on stubs can stay.
async fn drop_dependents(database: &TestDatabase, sides: &Sides, side: Side) {
    for (dependent, tables) in views_and_functions(database).await {
        let stays = tables.iter().all(|table| {
            !sides.is(table, side) || (side == Side::Directory && sides.stubs().contains_key(table.as_str()))
        });
        if !stays {
            database.run_script(&format!("DROP {dependent}")).await;
        }
    }
}

/// Opens a connection of its own.
pub(super) async fn client(database: &TestDatabase) -> Client {
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the files of sql/queries, by directory and name, with their texts.
pub(super) fn statements() -> List {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/queries");
    let directories = read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let files = directories.flat_map(|path| read_dir(path).unwrap()).map(|entry| entry.unwrap().path());
    let named = |path: std::path::PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.map(named).collect()
}

/// Returns why a database cannot run a statement; `None` if it can. Several statements in one file cannot be prepared,
/// so these are run and rolled back.
pub(super) async fn refusal(client: &Client, statement: &str) -> Option<String> {
    let outcome = match client.prepare(statement).await {
        Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::SYNTAX_ERROR) => {
            let outcome = client.batch_execute(&format!("BEGIN; {statement}")).await;
            client.batch_execute("ROLLBACK").await.unwrap();
            outcome
        }
        prepared => prepared.map(drop),
    };
    outcome
        .err()
        .map(|error| error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().into()))
}
