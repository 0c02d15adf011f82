//! Binaries in PostgreSQL. Their bytes are stored in rows of a quarter of a megabyte, so that neither an upload nor a
//! download holds more than that in memory.
//!
//! Only this file knows how bytes are stored: [`Upload`] writes and finishes, [`read_chunk`] reads, and the bytes are
//! deleted with their owner. An upload holds neither a transaction nor a connection while it waits for its client. Its
//! chunks are short statements under an id that nobody knows yet, and the transaction that creates or changes the owner
//! attaches them. A sweep deletes the chunks of abandoned uploads.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use deadpool_postgres::GenericClient;
use platform_model::data::binary::Binary;
use platform_model::data::event_binary::Content;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{BinaryId, EventId, ManagedObjectId, TenantId};
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;

pub(crate) const DELETE_REPLACED: &str = include_str!("../../../../sql/queries/binaries/delete_replaced.sql");
pub(crate) const ATTACH: &str = include_str!("../../../../sql/queries/binaries/attach.sql");
const INSERT: &str = include_str!("../../../../sql/queries/binaries/insert.sql");
const INSERT_CHUNK: &str = include_str!("../../../../sql/queries/binaries/insert_chunk.sql");
const FINISH: &str = include_str!("../../../../sql/queries/binaries/finish.sql");
const FIND: &str = include_str!("../../../../sql/queries/binaries/find.sql");
const FIND_CHUNK: &str = include_str!("../../../../sql/queries/binaries/find_chunk.sql");
const FIND_CHUNK_WITH: &str = include_str!("../../../../sql/queries/binaries/find_chunk_with.sql");
const DELETE_UNFINISHED: &str = include_str!("../../../../sql/queries/binaries/delete_unfinished.sql");
const ATTACH_TO_EVENT: &str = include_str!("../../../../sql/queries/binaries/attach_to_event.sql");
const DELETE_OF_EVENT: &str = include_str!("../../../../sql/queries/binaries/delete_of_event.sql");
const MOVE_CHUNKS: &str = include_str!("../../../../sql/queries/binaries/move_chunks.sql");
const EXTEND: &str = include_str!("../../../../sql/queries/binaries/extend.sql");
const LIST_GIVEN_UP: &str = include_str!("../../../../sql/queries/binaries/list_given_up.sql");
const SWEEP: &str = include_str!("../../../../sql/queries/binaries/sweep.sql");

/// The bytes of one row; the last row of a binary may have fewer.
pub const CHUNK: usize = 256 << 10;
/// The longest duration of an upload. An upload counts as abandoned after twice this time, so the sweep never deletes
/// one that still finishes.
const LONGEST_UPLOAD: Duration = Duration::from_secs(12 * 3600);
/// The number of abandoned uploads that one statement deletes; each may have hundreds of chunks.
const SWEPT_AT_ONCE: i64 = 20;

/// An upload in progress. When it is dropped before [`Upload::keep`], its bytes are deleted.
#[derive(Debug)]
pub struct Upload {
    database: Database,
    tenant: TenantId,
    id: BinaryId,
    begun: Instant,
    /// The number of chunks written.
    chunks: i32,
    /// Bytes that do not fill a chunk yet.
    rest: BytesMut,
    length: i64,
    kept: bool,
}

impl Upload {
    /// Begins an upload with a new id. One statement.
    ///
    /// # Errors
    /// `DiskFull`, `QuotaExceeded` (Z-20), `Unavailable` or `Database`.
    pub async fn begin(database: &Database, tenant: &TenantId, id: i64) -> Result<Self> {
        database.ensure_room()?;
        database.ensure_stored_quota(tenant)?;
        database.reader().await?.run(INSERT, &[&tenant.as_str(), &id]).await?;
        Ok(Self {
            database: database.clone(),
            tenant: tenant.clone(),
            id: BinaryId(id),
            begun: Instant::now(),
            chunks: 0,
            rest: BytesMut::new(),
            length: 0,
            kept: false,
        })
    }

    /// Returns the number of bytes so far.
    pub fn length(&self) -> u64 {
        self.length.unsigned_abs()
    }

    /// Adds bytes. Full chunks are stored before this returns, which is the back-pressure. One statement per chunk.
    ///
    /// # Errors
    /// `Invalid` when the upload takes longer than half a day, `DiskFull`, `Unavailable` or `Database`.
    pub async fn write(&mut self, mut bytes: Bytes) -> Result<()> {
        if self.begun.elapsed() > LONGEST_UPLOAD {
            return Err(Error::Invalid("Invalid upload: it took longer than 12 hours".into()));
        }
        self.length += bytes.len() as i64;
        while self.rest.len() + bytes.len() >= CHUNK {
            self.rest.extend_from_slice(&bytes.split_to(CHUNK - self.rest.len()));
            self.store_chunk().await?;
        }
        self.rest.extend_from_slice(bytes.chunk());
        Ok(())
    }

    /// Stores the last chunk and the metadata. The upload is complete then, but has no owner yet. Two statements.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn finish(&mut self, name: String, content_type: String) -> Result<Binary> {
        if !self.rest.is_empty() {
            self.store_chunk().await?;
        }
        let tenant = self.tenant.as_str();
        let finished = self
            .database
            .reader()
            .await?
            .run(FINISH, &[&tenant, &self.id.0, &name, &content_type, &self.length])
            .await?;
        match finished {
            0 => Err(Error::not_found(Noun::Binary, self.id)),
            _ => Ok(Binary { id: self.id, name, content_type, length: self.length }),
        }
    }

    /// Keeps the bytes, which have an owner now.
    pub fn keep(mut self) {
        self.kept = true;
    }

    async fn store_chunk(&mut self) -> Result<()> {
        self.database.ensure_room()?;
        let tenant = self.tenant.as_str();
        self.database
            .reader()
            .await?
            .run(INSERT_CHUNK, &[&tenant, &self.id.0, &self.chunks, &&self.rest[..]])
            .await?;
        self.chunks += 1;
        self.rest.clear();
        Ok(())
    }
}

/// Deletes the upload of a client that disconnected or whose request was rejected. If this fails, the sweep deletes it.
impl Drop for Upload {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.kept, tokio::runtime::Handle::try_current()) {
            let (database, tenant, id) = (self.database.clone(), self.tenant.clone(), self.id);
            runtime.spawn(async move {
                if let Err(error) = delete_unfinished(&database, &tenant, id).await {
                    tracing::debug!(%error, "an abandoned upload stays until the next sweep");
                }
            });
        }
    }
}

async fn delete_unfinished(database: &Database, tenant: &TenantId, id: BinaryId) -> Result<()> {
    database.reader().await?.run(DELETE_UNFINISHED, &[&tenant.as_str(), &id.0]).await?;
    Ok(())
}

/// An upload and the managed object to which it is attached.
pub(crate) struct UploadOfObject<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) object: ManagedObjectId,
    pub(crate) binary: BinaryId,
}

/// Attaches uploads to managed objects, in the transaction that writes these objects, and deletes their old binaries.
/// Returns the ids of the uploads that were attached; for the others, the upload or the object no longer exists.
pub(crate) async fn attach_binaries(
    client: &impl GenericClient,
    rows: &[UploadOfObject<'_>],
) -> Result<HashSet<i64>> {
    if rows.is_empty() {
        return Ok(HashSet::new());
    }
    let tenants: Vec<&str> = rows.iter().map(|upload| upload.tenant.as_str()).collect();
    let objects: Vec<i64> = rows.iter().map(|upload| upload.object.0).collect();
    let binaries: Vec<i64> = rows.iter().map(|upload| upload.binary.0).collect();
    let parameters: [&(dyn ToSql + Sync); 3] = [&tenants, &objects, &binaries];
    // Polled in this order, so sent in this order.
    let (deleted, attached) = tokio::join!(
        biased;
        client.run(DELETE_REPLACED, &parameters),
        client.rows(ATTACH, &parameters),
    );
    deleted?;
    Ok(attached?.iter().map(|row| row.get(0)).collect())
}

/// Attaches an upload to an event, in the transaction that changes the event.
///
/// # Errors
/// `Unavailable` when the upload was swept away; `Database`.
pub(crate) async fn attach_to_event(
    client: &impl GenericClient,
    tenant: &TenantId,
    event: EventId,
    content: &Content,
) -> Result<()> {
    let (id, incomplete) = (content.binary().id.0, content.is_incomplete());
    let attached = client.run(ATTACH_TO_EVENT, &[&tenant.as_str(), &id, &event.0, &incomplete]).await?;
    found(attached)
}

/// Appends the bytes of an upload to an incomplete file, whose metadata becomes `content`, in the transaction that
/// changes the event.
///
/// # Errors
/// `Unavailable` when the upload was swept away; `Database`.
pub(crate) async fn append(
    client: &impl GenericClient,
    tenant: &TenantId,
    content: &Content,
    upload: BinaryId,
) -> Result<()> {
    let (tenant, binary) = (tenant.as_str(), content.binary());
    found(client.run(MOVE_CHUNKS, &[&tenant, &upload.0, &binary.id.0]).await?)?;
    found(client.run(DELETE_UNFINISHED, &[&tenant, &upload.0]).await?)?;
    let incomplete = content.is_incomplete();
    found(client.run(EXTEND, &[&tenant, &binary.id.0, &binary.length, &incomplete]).await?)
}

/// Deletes the file of an event, complete or not, in the transaction that changes the event.
///
/// # Errors
/// `Database`.
pub(crate) async fn delete_of_event(
    client: &impl GenericClient,
    tenant: &TenantId,
    event: EventId,
) -> Result<()> {
    client.run(DELETE_OF_EVENT, &[&tenant.as_str(), &event.0]).await?;
    Ok(())
}

fn found(rows: u64) -> Result<()> {
    match rows {
        0 => Err(Error::unavailable("an upload was deleted before it was attached to its owner")),
        _ => Ok(()),
    }
}

/// An incomplete file of an event that received no chunk for too long.
#[derive(Debug, Clone)]
pub struct GivenUp {
    /// The tenant of the event.
    pub tenant: TenantId,
    /// The event whose file it is.
    pub event: EventId,
    /// The source of the event.
    pub source: ManagedObjectId,
    /// The stored file.
    pub binary: BinaryId,
    /// The bytes it had. A chunk that arrives now changes this number, and the file is kept.
    pub length: i64,
}

/// Returns some of the incomplete files of events of all tenants that received no chunk for this long.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_given_up(database: &Database, after: Duration) -> Result<Vec<GivenUp>> {
    let rows = database.loader().await?.rows(LIST_GIVEN_UP, &[&after.as_secs_f64(), &SWEPT_AT_ONCE]).await?;
    rows.iter()
        .map(|row| {
            Ok(GivenUp {
                tenant: TenantId::parse(row.get(0))?,
                event: EventId(row.get(1)),
                source: ManagedObjectId(row.get(2)),
                binary: BinaryId(row.get(3)),
                length: row.get(4),
            })
        })
        .collect()
}

/// Returns the binary of a managed object, without its bytes.
///
/// # Errors
/// `NotFound` when the object does not exist or has no binary, `Unavailable` or `Database`.
pub async fn get_binary(database: &Database, tenant: &TenantId, object: ManagedObjectId) -> Result<Binary> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &object.0]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Binary, object))?;
    Ok(Binary { id: BinaryId(row.get(0)), name: row.get(1), content_type: row.get(2), length: row.get(3) })
}

/// Returns a chunk of a binary, counted from 0.
///
/// # Errors
/// `NotFound` after the last chunk, and when the binary was deleted or replaced meanwhile; `Unavailable` or `Database`.
pub async fn read_chunk(
    database: &Database,
    tenant: &TenantId,
    binary: BinaryId,
    number: i32,
) -> Result<Bytes> {
    let row = database.reader().await?.find(FIND_CHUNK, &[&tenant.as_str(), &binary.0, &number]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Binary, binary))?;
    Ok(Bytes::from(row.get::<_, Vec<u8>>(0)))
}

/// The position of a chunk in its binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkPosition {
    /// The number of the chunk, counted from 0.
    pub number: i32,
    /// The bytes before the chunk.
    pub start: u64,
}

/// Finds the chunk that contains the byte at this place. A file that arrived in several uploads has short chunks in its
/// middle, so the number cannot be computed. One statement, which reads lengths and no bytes.
///
/// # Errors
/// `NotFound` after the last byte, and when the binary was deleted or replaced meanwhile; `Unavailable` or `Database`.
pub async fn find_chunk_with(
    database: &Database,
    tenant: &TenantId,
    binary: BinaryId,
    place: u64,
) -> Result<ChunkPosition> {
    let place = i64::try_from(place).unwrap_or(i64::MAX);
    let row = database.reader().await?.find(FIND_CHUNK_WITH, &[&tenant.as_str(), &binary.0, &place]).await?;
    let row = row.ok_or_else(|| Error::not_found(Noun::Binary, binary))?;
    Ok(ChunkPosition { number: row.get(0), start: row.get::<_, i64>(1).unsigned_abs() })
}

/// Deletes the abandoned uploads of all servers.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn sweep(database: &Database) -> Result<()> {
    loop {
        let client = database.loader().await?;
        if client.run(SWEEP, &[&SWEPT_AT_ONCE]).await? < SWEPT_AT_ONCE as u64 {
            return Ok(());
        }
    }
}
