//! The tables that belong to a tenant, from the catalog of the database, so that none is forgotten. Those that stay
//! behind are named here, with the reason.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use tokio_postgres::Row;

use super::{TableContent, Target};

const LIST_TABLES: &str = include_str!("../../../../../sql/queries/tenant_transfer/list_tables.sql");

/// The table of the tenant itself, whose rows are found by their id.
const TENANTS: &str = "tenants";

/// The tables whose rows stay behind, with the reason.
pub const LEFT_TABLES: [(&str, &str); 12] = [
    ("access_tokens", "a token would be valid in two deployments; clients request another one"),
    ("module_leases", "servers of the source hold them"),
    ("new_device_requests", "the id of a device is unique in a deployment; who still waits registers again"),
    ("presence", "it says which server of the source a device is connected to"),
    ("publication_listeners", "they are servers of the source"),
    ("retention_runs", "servers of the source lease them; the next run is planned anew"),
    ("stored_sessions", "a session belongs to its deployment; clients handshake again"),
    ("tenant_activity", "servers of the source measure it"),
    ("tenant_counts", "servers of the source count in it"),
    ("traces", "they run at servers of the source, for an hour at most"),
    ("user_sessions", "servers of the source count in it"),
    ("user_tokens", "a token would be valid in two deployments; users log in again"),
];

/// The columns whose values stay behind, with the reason.
pub const LEFT_COLUMNS: [(&str, &str, &str); 8] = [
    ("consumers", "reader_address", READER),
    ("consumers", "reader_server", READER),
    ("consumers", "reader_session", READER),
    ("consumers", "reader_since", READER),
    ("consumers", "reader_way", READER),
    ("tenants", "domain", "an import may give the tenant another domain"),
    ("tenants", "moved_at", "it is of the deployment that a tenant has left"),
    ("tenants", "parent", "an imported tenant is one of the installation, as its parent may be elsewhere"),
];
const READER: &str = "whoever reads a consumer does so at a server of the source";

/// A table of which a tenant has rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// The columns that refer to an application.
    applications: Vec<String>,
    /// The tables that its rows refer to.
    refers_to: Vec<String>,
    /// The columns of the primary key.
    pub(super) key_columns: Vec<String>,
    /// The columns that PostgreSQL numbers.
    pub(super) numbered: Vec<String>,
}

/// Lists the tables of tenants. A table comes after those that its rows refer to.
pub(super) async fn list_tables(client: &impl GenericClient) -> Result<Vec<Table>> {
    let rows = client.query(LIST_TABLES, &[]).await?;
    let all =
        rows.iter().map(from_row).filter(|table| !LEFT_TABLES.iter().any(|(left, _)| *left == table.name));
    let mut waiting: Vec<_> = all.collect();
    let mut ordered: Vec<Table> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let follows = |table: &Table| !waiting.iter().any(|other| table.refers_to.contains(&other.name));
        let next = waiting.iter().position(follows);
        let next = next.ok_or_else(|| Error::Invalid("the foreign keys of tables form a circle".into()))?;
        ordered.push(waiting.remove(next));
    }
    Ok(ordered)
}

/// Returns columns as a list for a statement.
pub(super) fn list(columns: &[String]) -> String {
    columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ")
}

fn from_row(row: &Row) -> Table {
    let name: String = row.get(0);
    let mut columns: Vec<String> = row.get(1);
    let is_left = |column: &str| LEFT_COLUMNS.iter().any(|left| (left.0, left.1) == (&*name, column));
    columns.retain(|column| !(is_left(column) || name == TENANTS && column == "id"));
    Table {
        columns,
        applications: row.get(2),
        refers_to: row.get(3),
        key_columns: row.get(4),
        numbered: row.get(5),
        name,
    }
}

impl Table {
    /// Returns the column that has the tenant.
    pub(super) fn key(&self) -> &'static str {
        if self.name == TENANTS { "id" } else { "tenant" }
    }

    /// Returns the columns as a list for a statement.
    fn list(&self) -> String {
        list(&self.columns)
    }

    /// Returns the columns that an import sets, as a list for a statement.
    pub(super) fn all_columns(&self) -> String {
        let keys = if self.key() == "id" { "id, domain" } else { "tenant" };
        format!("{keys}, {}", self.list())
    }

    /// Returns the statement that copies the rows of a tenant out, or those that a condition selects. `COPY` takes no
    /// parameters; the id of a tenant has no character that a quoted text would need to escape.
    pub(super) fn copy_out(&self, tenant: &TenantId, which: Option<&str>) -> String {
        let which = which.map(|which| format!(" AND {which}")).unwrap_or_default();
        format!(
            "COPY (SELECT {} FROM {} WHERE {} = '{tenant}'{which}) TO STDOUT",
            self.list(),
            self.name,
            self.key()
        )
    }

    /// Returns the statement that copies the keys of the rows of a tenant out.
    pub(super) fn copy_keys_out(&self, tenant: &TenantId) -> String {
        let keys = list(&self.key_columns);
        format!("COPY (SELECT {keys} FROM {} WHERE {} = '{tenant}') TO STDOUT", self.name, self.key())
    }

    /// Returns the statement that copies rows into a table with the same columns.
    pub(super) fn copy_in(&self, into: &str) -> String {
        format!("COPY {into} ({}) FROM STDIN", self.all_columns())
    }

    /// Returns the first values of each row that is copied in, as the text before its others.
    pub(super) fn prefix(&self, target: &Target) -> String {
        let Target { tenant, domain } = target;
        if self.key() == "id" { format!("{tenant}\t{domain}\t") } else { format!("{tenant}\t") }
    }

    /// Counts and digests the rows of a tenant. The digest is made of two sums of different hashes, so it depends on no
    /// order, and two equal rows do not cancel each other out. Applications are taken by what they are called in every
    /// deployment. The hash is not cryptographic: the proof is against accidents, and whoever can change rows can
    /// change the proof as well.
    pub(super) async fn content(
        &self,
        client: &impl GenericClient,
        tenant: &TenantId,
    ) -> Result<TableContent> {
        let value = |column: &String| match self.applications.contains(column) {
            true => format!(
                "(SELECT CASE a.tenant WHEN $1 THEN a.id::text ELSE concat_ws('/', a.tenant, a.name) END \
                FROM applications a WHERE a.id = t.\"{column}\")"
            ),
            false => format!("t.\"{column}\""),
        };
        let values = self.columns.iter().map(value).collect::<Vec<_>>().join(", ");
        let statement = format!(
            "SELECT count(*), left(encode(sha256(convert_to(concat_ws(' ', \
                sum(hashtextextended(line, 0)), sum(hashtextextended(line, 1))), 'UTF8')), 'hex'), 32) \
            FROM (SELECT ROW({values})::text AS line FROM {} t WHERE t.{} = $1 OFFSET 0) lines",
            self.name,
            self.key()
        );
        let row = client.query_one(&statement, &[&tenant.as_str()]).await?;
        Ok(TableContent {
            table: self.name.clone(),
            columns: self.columns.clone(),
            rows: row.get::<_, i64>(0).unsigned_abs(),
            digest: row.get(1),
        })
    }

    /// Replaces the ids of applications in a row, in the text format of `COPY`, which has no tab within a value.
    pub(super) fn with_applications(&self, row: &[u8], ids: &HashMap<i64, i64>) -> Option<Vec<u8>> {
        if self.applications.is_empty() || ids.is_empty() {
            return None;
        }
        let (line, end) = row.split_at(row.len() - usize::from(row.ends_with(b"\n")));
        let mut values: Vec<_> = line.split(|byte| *byte == b'\t').map(<[u8]>::to_vec).collect();
        for (column, value) in self.columns.iter().zip(&mut values) {
            let id = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            if let Some(id) = id.filter(|_| self.applications.contains(column)).and_then(|id| ids.get(&id)) {
                *value = id.to_string().into_bytes();
            }
        }
        Some([values.join(&b'\t').as_slice(), end].concat())
    }
}
