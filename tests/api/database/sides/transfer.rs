//! A tenant that is carried over (Z-21) takes along everything that it has in the cell and in the directory.

use std::collections::BTreeSet;
use std::io;

use platform_model::id::TenantId;
use platform_store::tenancy::transfer::{LEFT_COLUMNS, LEFT_TABLES, NUMBERED, Output, TableContent, export};

use super::*;

/// An output that keeps nothing.
struct Nowhere;

impl Output for Nowhere {
    fn begin(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

async fn exported(database: &TestDatabase) -> Vec<TableContent> {
    let tenant = TenantId::parse("main").unwrap();
    export(&database.open(), &tenant, &mut Nowhere).await.unwrap().tables
}

/// Returns the pairs of table and column of a query.
async fn columns_of(database: &TestDatabase, query: &str) -> BTreeSet<(String, String)> {
    database.query(query, &[]).await.iter().map(|row| (row.get(0), row.get(1))).collect()
}

const COLUMNS: &str = "SELECT table_name::text, column_name::text FROM information_schema.columns \
    WHERE table_schema = 'public' AND is_generated = 'NEVER' \
    AND table_name IN (SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition)";

#[tokio::test]
async fn every_table_of_a_cell_is_carried_over_or_left_behind_by_name() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let all = columns_of(&database, COLUMNS).await;
    let has_tenant = |table: &&str| all.contains(&((*table).to_owned(), "tenant".to_owned()));
    let of_directory = sides.tables(Side::Directory);
    let belonging: BTreeSet<_> = sides.tables(Side::Cell).into_iter().collect();
    let belonging: BTreeSet<_> =
        belonging.into_iter().chain(of_directory.into_iter().filter(has_tenant)).chain(["tenants"]).collect();

    let carried = exported(&database).await;

    let carried: BTreeSet<_> = carried.iter().map(|content| &*content.table).collect();
    let left: BTreeSet<_> = LEFT_TABLES.iter().map(|(table, _)| *table).collect();
    assert!(carried.is_disjoint(&left), "{carried:?}");
    let named: BTreeSet<_> = carried.union(&left).copied().collect();
    assert_eq!(named, belonging, "a table is neither carried over nor in LEFT_TABLES, or does not exist");
}

#[tokio::test]
async fn every_column_is_carried_over_or_left_behind_by_name() {
    let database = TestDatabase::create().await;
    let mut carried = BTreeSet::new();
    for TableContent { table, columns, .. } in exported(&database).await {
        carried.extend(columns.into_iter().map(|column| (table.clone(), column)));
        carried.insert((table.clone(), if table == "tenants" { "id" } else { "tenant" }.to_owned()));
    }
    let left = LEFT_COLUMNS.iter().map(|(table, column, _)| ((*table).to_owned(), (*column).to_owned()));
    let left: BTreeSet<_> = left.collect();
    assert!(carried.is_disjoint(&left));
    let tables: BTreeSet<_> = carried.iter().map(|(table, _)| table.clone()).collect();
    let all = columns_of(&database, COLUMNS).await.into_iter().filter(|(table, _)| tables.contains(table));

    assert_eq!(carried.union(&left).cloned().collect::<BTreeSet<_>>(), all.collect());
}

#[tokio::test]
async fn every_sequence_of_cells_goes_on_beyond_an_imported_tenant() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let carried = exported(&database).await;
    let identities = "SELECT table_name::text, column_name::text FROM information_schema.columns \
        WHERE table_schema = 'public' AND is_identity = 'YES'";
    let mut advanced = columns_of(&database, identities).await;
    advanced.extend(NUMBERED.iter().map(|(table, column, _)| ((*table).to_owned(), (*column).to_owned())));

    for entry in sides.list("sequences").keys() {
        let target = entry.split(" = ").nth(1).unwrap();
        let (table, column) = target.split_once('.').unwrap();
        if carried.iter().any(|content| content.table == table) {
            assert!(advanced.contains(&(table.into(), column.into())), "{entry} is not in NUMBERED");
        }
    }
}
