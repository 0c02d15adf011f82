//! The schema as the catalog of PostgreSQL describes it.

use tokio_postgres::Row;

use super::*;

/// The tables, without partitions.
const TABLES: &str = "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition \
    AND relnamespace = 'public'::regnamespace ORDER BY 1";

/// Those of the tables `$1` whose column `tenant` is absent or may be null.
const WITHOUT_TENANT: &str = "SELECT t.name FROM unnest($1::text[]) AS t (name) WHERE NOT EXISTS (\
    SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(t.name) AND a.attname = 'tenant' AND a.attnotnull)";

/// The unique keys of the tables `$1` that do not contain the tenant. An included column is not a part of the key.
const UNIQUE_WITHOUT_TENANT: &str = "SELECT i.indexrelid::regclass::text, c.relname::text \
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
    WHERE (i.indisunique OR i.indisexclusion) AND c.relname = ANY($1) AND NOT c.relispartition AND NOT EXISTS (\
        SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attname = 'tenant' \
        AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1]))";

const FOREIGN_KEYS: &str = "SELECT f.conname::text, f.conrelid::regclass::text, f.confrelid::regclass::text, \
        f.confdeltype = 'c', \
        ARRAY(SELECT a.attname::text FROM unnest(f.conkey) WITH ORDINALITY k (number, place) \
            JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number ORDER BY k.place), \
        ARRAY(SELECT a.attname::text FROM unnest(f.confkey) WITH ORDINALITY k (number, place) \
            JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number ORDER BY k.place) \
    FROM pg_constraint f WHERE f.contype = 'f' AND f.conparentid = 0";

/// The sequences, with table and column if they belong to one.
const SEQUENCES: &str = "SELECT s.relname::text, d.refobjid::regclass::text, a.attname::text FROM pg_class s \
    LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.deptype IN ('a', 'i') \
        AND d.refclassid = 'pg_class'::regclass \
    LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid \
    WHERE s.relkind = 'S' AND s.relnamespace = 'public'::regnamespace";

/// The indexes of the table `$1` in which the column `$2` is not behind the tenant.
const ORDERED_ACROSS_TENANTS: &str = "SELECT i.indexrelid::regclass::text FROM pg_index i, LATERAL (\
        SELECT ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (number, place) \
            LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place) AS names\
    ) AS key WHERE i.indrelid = to_regclass($1) AND $2 = ANY(names) \
        AND coalesce(array_position(names, 'tenant') > array_position(names, $2), true)";

/// The views and functions with the tables that they depend on. Functions whose body is a text depend on none.
const VIEWS_AND_FUNCTIONS: &str = "SELECT DISTINCT 'VIEW ' || v.oid::regclass, d.refobjid::regclass::text \
        FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid \
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refobjid <> v.oid \
            AND d.refclassid = 'pg_class'::regclass \
        WHERE v.relnamespace = 'public'::regnamespace \
    UNION SELECT 'FUNCTION ' || f.oid::regprocedure, coalesce(nullif(t.typrelid, 0), d.refobjid)::regclass::text \
        FROM pg_proc f JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = f.oid \
        LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid \
        WHERE f.pronamespace = 'public'::regnamespace \
            AND (d.refclassid = 'pg_class'::regclass OR t.typrelid <> 0)";

/// A foreign key.
pub(super) struct ForeignKey {
    pub(super) name: String,
    pub(super) table: String,
    pub(super) referenced: String,
    pub(super) cascades: bool,
    /// The columns with those that they refer to.
    pub(super) pairs: Vec<(String, String)>,
}

/// A sequence, with table and column if it belongs to one.
pub(super) struct Sequence {
    pub(super) name: String,
    pub(super) of: Option<(String, String)>,
}

fn names(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.get(0)).collect()
}

pub(super) async fn tables(database: &TestDatabase) -> Vec<String> {
    names(&database.query(TABLES, &[]).await)
}

pub(super) async fn tables_without_tenant(database: &TestDatabase, tables: &[&str]) -> Vec<String> {
    names(&database.query(WITHOUT_TENANT, &[&tables]).await)
}

/// Returns the unique keys of some tables without the tenant, with their tables.
pub(super) async fn unique_without_tenant(database: &TestDatabase, tables: &[&str]) -> Vec<(String, String)> {
    let rows = database.query(UNIQUE_WITHOUT_TENANT, &[&tables]).await;
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

pub(super) async fn foreign_keys(database: &TestDatabase) -> Vec<ForeignKey> {
    let of_row = |row: &Row| {
        let (own, others): (Vec<String>, Vec<String>) = (row.get(4), row.get(5));
        ForeignKey {
            name: row.get(0),
            table: row.get(1),
            referenced: row.get(2),
            cascades: row.get(3),
            pairs: own.into_iter().zip(others).collect(),
        }
    };
    database.query(FOREIGN_KEYS, &[]).await.iter().map(of_row).collect()
}

pub(super) async fn sequences(database: &TestDatabase) -> Vec<Sequence> {
    let of_row = |row: &Row| {
        let (table, column): (Option<String>, Option<String>) = (row.get(1), row.get(2));
        Sequence { name: row.get(0), of: table.zip(column) }
    };
    database.query(SEQUENCES, &[]).await.iter().map(of_row).collect()
}

pub(super) async fn ordered_across_tenants(
    database: &TestDatabase,
    table: &str,
    column: &str,
) -> Vec<String> {
    names(&database.query(ORDERED_ACROSS_TENANTS, &[&table, &column]).await)
}

/// Returns views and functions as `DROP` names them, each with the tables that it depends on.
pub(super) async fn views_and_functions(database: &TestDatabase) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for row in database.query(VIEWS_AND_FUNCTIONS, &[]).await {
        found.entry(row.get(0)).or_default().push(row.get(1));
    }
    found
}
