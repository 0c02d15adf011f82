//! `inventory-fill`: inserts a large inventory into the database of a server, with links and external ids.
//! Rows are generated while they are sent, so the memory does not grow with their number.

use std::fmt::Write as _;
use std::io::Cursor;
use std::pin::pin;

use futures_util::SinkExt as _;
use tokio_postgres::{Client, NoTls};

use super::Bench;
use super::inventory::{Kind, SERIAL, fragments, id, owner, serial, type_and_name};
use crate::cli::InventoryFill;
use crate::error::Error;
use crate::progress::Progress;
use crate::report::Report;

/// The number of bytes sent at once.
const CHUNK: usize = 1 << 20;
const OBJECTS: &str =
    "COPY managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments) FROM STDIN";
const LINKS: &str = "COPY links (tenant, kind, parent, child) FROM STDIN";
const EXTERNAL_IDS: &str = "COPY external_ids (tenant, type, value, object, created_at) FROM STDIN";
/// Afterwards the planner has the statistics it would have for a database that grew by itself.
const SETTLE: &str = "VACUUM (ANALYZE) managed_objects, links, external_ids; CHECKPOINT";

/// Runs the command.
pub(super) async fn run(bench: &Bench, settings: &InventoryFill) -> Result<Report, Error> {
    let window = bench.open_window();
    let (client, connection) = tokio_postgres::connect(&settings.database_url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let (shape, tenant) = (settings.shape, settings.tenant.as_str());
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if tenant.is_empty() || !tenant.chars().all(is_plain) {
        return Err(Error::Refused(format!("{tenant}: no id of a tenant")));
    }
    copy(&client, OBJECTS, "objects", shape.objects, |n, rows| {
        let kind = shape.kind(n);
        let (type_, name) = type_and_name(kind, n);
        let (second, owner, fragments) = (n % 86_400, owner(n), fragments(kind, n));
        writeln!(
            rows,
            "{tenant}\t{}\t{type_}\t{name}\t{owner}\t2024-01-01 00:00:00+00\t2024-03-{:02} \
             {:02}:{:02}:{:02}+00\t{fragments}",
            id(n),
            1 + n % 28,
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    })
    .await?;
    copy(&client, LINKS, "links", shape.objects, |n, rows| match shape.kind(n) {
        Kind::Device(_) => {
            writeln!(rows, "{tenant}\tchildAssets\t{}\t{}", id(crate::cli::Shape::group_of(n)), id(n))
        }
        _ => Ok(()),
    })
    .await?;
    copy(&client, EXTERNAL_IDS, "external ids", shape.objects, |n, rows| match shape.kind(n) {
        Kind::Device(_) => {
            writeln!(rows, "{tenant}\t{SERIAL}\t{}\t{}\t2024-03-01 00:00:00+00", serial(n), id(n))
        }
        _ => Ok(()),
    })
    .await?;
    client.batch_execute("SET statement_timeout = 0").await?;
    for statement in SETTLE.split(';') {
        client.batch_execute(statement).await?;
    }
    drop(client);
    driver.await.map_err(|error| Error::Refused(error.to_string()))??;
    let (seconds, cpu) = bench.close_window(&window);
    Ok(Report { seconds, clean: true, cpu: Some(cpu), ..bench.report("inventory-fill", settings) })
}

/// Sends the rows that `row` returns for the numbers from 0.
async fn copy(
    client: &Client,
    statement: &str,
    what: &'static str,
    count: u32,
    row: impl Fn(u32, &mut String) -> std::fmt::Result,
) -> Result<(), Error> {
    let progress = Progress::count(what, count as usize);
    let mut sink = pin!(client.copy_in::<_, Cursor<Vec<u8>>>(statement).await?);
    let mut rows = String::with_capacity(2 * CHUNK);
    for n in 0..count {
        row(n, &mut rows).map_err(|error| Error::Refused(error.to_string()))?;
        progress.advance();
        if rows.len() >= CHUNK {
            sink.send(Cursor::new(std::mem::take(&mut rows).into_bytes())).await?;
        }
    }
    sink.send(Cursor::new(rows.into_bytes())).await?;
    sink.finish().await?;
    Ok(())
}
