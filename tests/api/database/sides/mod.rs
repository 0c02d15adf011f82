//! The line through the schema between the directory and the cells in which tenants live. sql/sides.txt lists the side
//! of every table, and the migrated schema must keep to it, apart from the exceptions there.

mod catalog;
mod lists;
mod narrowed;
mod transfer;

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{
    ForeignKey, foreign_keys, ordered_across_tenants, sequences, tables, tables_without_tenant,
    unique_without_tenant, views_and_functions,
};
use lists::{List, Side, Sides};

use super::*;

#[tokio::test]
async fn every_table_is_on_one_side() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let there = tables(&database).await;
    let mut wrong = Vec::new();
    for table in &there {
        match *sides.sides(table) {
            [_] => {}
            [] => wrong.push(format!(
                "{table} has no side: add it to `cell` in sql/sides.txt if its rows belong to a tenant, to `directory` \
                 if they are found without one, or to `database` (docs/internals/cells.md)"
            )),
            _ => wrong.push(format!("{table} is on several sides of sql/sides.txt")),
        }
    }
    let listed = Side::ALL.iter().flat_map(|(side, _)| sides.tables(*side));
    let gone = listed.filter(|table| !there.iter().any(|name| name == table));
    wrong.extend(gone.map(|table| format!("{table} is in sql/sides.txt and not in the schema")));
    let stubs = sides.stubs();
    let elsewhere = stubs.keys().filter(|table| !sides.is(table, Side::Directory));
    wrong.extend(elsewhere.map(|table| format!("{table} is in `stubs` and not in `directory`")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn unique_keys_of_cells_contain_the_tenant() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let cells = sides.tables(Side::Cell);
    let without = tables_without_tenant(&database, &cells).await;
    assert!(without.is_empty(), "tables of cells need a column `tenant` that is NOT NULL: {without:?}");
    let keys = unique_without_tenant(&database, &cells).await;
    let found: List = keys
        .into_iter()
        .map(|(key, table)| (key, format!("the unique key of {table} does not contain the tenant")))
        .collect();
    sides.check("unique keys without the tenant", &found, "Add the tenant to the key");
}

#[tokio::test]
async fn foreign_keys_stay_on_one_side() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let keys = foreign_keys(&database).await;
    assert!(keys.len() > 50, "{}", keys.len());
    let wrong = |key: &ForeignKey| Some((key.name.clone(), crossing(&sides, key)?));
    let found = keys.iter().filter_map(wrong).collect();
    sides.check("foreign keys across the line", &found, "Refer to a table of the same side, or to a stub");
}

/// Returns what is wrong about a foreign key; `None` if it stays on one side and in one tenant.
fn crossing(sides: &Sides, key: &ForeignKey) -> Option<String> {
    let (from, to) = (&key.table, &key.referenced);
    let stubs = sides.stubs();
    if let (true, Some(columns)) = (sides.is(from, Side::Cell), stubs.get(to.as_str())) {
        if let Some((_, column)) = key.pairs.iter().find(|(_, column)| !columns.contains(&column.as_str())) {
            return Some(format!("{from} refers to {to}.{column}, which a cell does not have"));
        }
        let kept = format!("rows of {from} stay when their row of {to} is deleted; add ON DELETE CASCADE");
        return (!key.cascades).then_some(kept);
    }
    if sides.sides(from) != sides.sides(to) {
        return Some(format!("{from} refers to {to}, which is on the other side"));
    }
    let pairs_tenants = key.pairs.iter().any(|(own, other)| own == "tenant" && other == "tenant");
    let across = format!("{from} may refer to {to} of another tenant");
    (sides.is(from, Side::Cell) && !pairs_tenants).then_some(across)
}

#[tokio::test]
async fn sequences_order_no_two_tenants() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let listed = sides.list("sequences");
    let mut found = List::new();
    for sequence in sequences(&database).await {
        let target = match sequence.of {
            Some((table, _)) if !sides.is(&table, Side::Cell) => continue,
            Some((table, column)) => format!("{table}.{column}"),
            None => {
                let begin = format!("{} = ", sequence.name);
                let target = listed.keys().find_map(|entry| entry.strip_prefix(&begin));
                target.unwrap_or("<table>.<column>").to_owned()
            }
        };
        let entry = format!("{} = {target}", sequence.name);
        found.insert(entry, "it numbers rows of several tenants of one cell only".into());
        let (table, column) = target.split_once('.').expect("a table and a column");
        if sides.is(table, Side::Cell) {
            let indexes = ordered_across_tenants(&database, table, column).await;
            assert!(
                indexes.is_empty(),
                "{indexes:?} order rows of several tenants by {target}: begin with the tenant"
            );
        }
    }
    sides.check("sequences", &found, "Number rows in their tenant, as tenants.last_group does");
}

#[tokio::test]
async fn views_and_functions_read_one_side() {
    let (sides, database) = (Sides::load(), TestDatabase::create().await);
    let stubs = sides.stubs();
    let found = views_and_functions(&database).await;
    assert!(found.len() >= 4, "{found:?}");
    for (dependent, tables) in found {
        let reads =
            |side| tables.iter().any(|table| sides.is(table, side) && !stubs.contains_key(table.as_str()));
        assert!(!reads(Side::Cell) || !reads(Side::Directory), "{dependent} reads both sides: {tables:?}");
    }
}

#[tokio::test]
async fn statements_run_in_a_cell_alone_or_in_the_directory_alone() {
    let sides = Sides::load();
    let (cell, directory) = (narrowed::cell(&sides).await, narrowed::directory(&sides).await);
    let clients = (narrowed::client(&cell).await, narrowed::client(&directory).await);
    let (mut found, mut of_cells, mut of_directory) = (List::new(), 0, 0);
    for (name, statement) in narrowed::statements() {
        let in_cell = narrowed::refusal(&clients.0, &statement).await;
        let in_directory = narrowed::refusal(&clients.1, &statement).await;
        match (in_cell, in_directory) {
            (Some(cell), Some(directory)) => {
                found.insert(name, format!("a cell says \"{cell}\", the directory \"{directory}\""));
            }
            (None, Some(_)) => of_cells += 1,
            (Some(_), None) => of_directory += 1,
            (None, None) => {}
        }
    }
    assert!(of_cells > 250 && of_directory > 50, "{of_cells} of cells, {of_directory} of the directory");
    sides.check(
        "statements across the line",
        &found,
        "Split it in one for the cell and one for the directory",
    );
}

#[tokio::test]
async fn data_in_a_cell_lives_with_the_stubs_of_its_tenant_and_its_applications() {
    let sides = Sides::load();
    let cell = narrowed::cell(&sides).await;
    let of_tenant = "INSERT INTO tenants (id, status) VALUES ('t7', 'ACTIVE');
        INSERT INTO users (tenant, name, enabled, roles, created_at) VALUES ('t7', 'mia', true, '{}', now());
        INSERT INTO groups (tenant, id, name, roles) VALUES ('t7', 1, 'crew', '{}');
        INSERT INTO options (tenant, category, key, value) VALUES ('t7', 'c', 'k', 'v');
        INSERT INTO journals (tenant, is_written, first, newest, bytes, newest_at)
            VALUES ('t7', false, 1, 1, 1, now());
        INSERT INTO user_tokens (tenant, id, user_name, hash, name, scope, created_at, expires_at, ends_at)
            VALUES ('t7', 'a', 'mia', 'x', 'x', '{READ}', now(), now(), now())";
    let of_application = "INSERT INTO applications (id) VALUES (801);
        INSERT INTO users (tenant, name, enabled, roles, created_at, application, duty, sealed_password)
            VALUES ('t7', 'service', true, '{}', now(), 801, 'SERVICE', 'x');
        INSERT INTO binaries (tenant, id, application, name, content_type, length, created_at)
            VALUES ('t7', 1, 801, 'x', 'x/y', 1, now());
        INSERT INTO binary_chunks (tenant, binary_id, number, bytes) VALUES ('t7', 1, 0, 'x')";
    cell.run_script(of_tenant).await;
    cell.run_script(of_application).await;
    let count = async |table: &str| cell.count(&format!("{table} WHERE tenant = 't7'")).await;
    assert_eq!((count("users").await, count("binary_chunks").await), (2, 1));

    assert_eq!(cell.execute("DELETE FROM applications WHERE id = 801", &[]).await, 1);
    assert_eq!((count("users").await, count("binaries").await, count("binary_chunks").await), (1, 0, 0));

    assert_eq!(cell.execute("DELETE FROM tenants WHERE id = 't7'", &[]).await, 1);
    for table in ["users", "groups", "options", "journals", "user_tokens"] {
        assert_eq!(count(table).await, 0, "{table}");
    }
}
