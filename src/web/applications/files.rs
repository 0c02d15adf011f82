//! A cache of the files of hosted applications, shared by all threads of this server.
//!
//! The cache contains the rows of a binary, 256 KiB each, and the places that paths lead to. Both belong to one
//! version, which never changes, because another upload is another binary. Entries are therefore never outdated, only
//! evicted; and a slow reader holds one row, whatever the length of the file.

use std::ops::Range;
use std::sync::Arc;

use actix_web::web;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_model::applications::application::Application;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, BinaryId, TenantId};
use platform_store::Database;
use platform_store::applications::versions::{ApplicationFile, find_files};
use platform_store::data::binaries::{CHUNK, read_chunk};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The divisor of the cache size that gives the share of places.
const SHARE_OF_PLACES: u64 = 16;
/// The divisor of the cache size that gives the longest cached file. A longer file would evict many others.
const SHARE_OF_ONE_FILE: u64 = 4;
/// The memory of an entry in addition to its texts and bytes.
const OVERHEAD: u64 = 256;
/// The file that is served for a directory.
const INDEX: &str = "index.html";

/// A version of an application. Binary ids are unique within a tenant, application ids within the deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    application: ApplicationId,
    binary: BinaryId,
    owner: TenantId,
}

impl Version {
    /// Returns the active version, or `None` before the first upload.
    pub fn in_use(application: &Application) -> Option<Self> {
        let binary = application.active_version?;
        Some(Self { application: application.id, binary, owner: application.owner.clone() })
    }
}

/// The files at a path.
#[derive(Debug)]
pub struct FilesAtPath {
    /// The uncompressed file.
    pub file: ApplicationFile,
    /// The file compressed with `br`, if the application contains it.
    pub brotli: Option<ApplicationFile>,
    /// The file compressed with `gzip`, if the application contains it.
    pub gzip: Option<ApplicationFile>,
    /// Whether the path is a directory; the file is then its index page.
    pub is_directory: bool,
}

/// The cache of the files of hosted applications.
pub struct HostedFiles {
    database: Database,
    chunks: Cache<(Version, i32), Bytes, Weight>,
    places: Cache<(Version, Box<str>), Arc<FilesAtPath>, Weight>,
    /// The longest cached file in bytes. Longer files are read from the database, chunk by chunk.
    longest: u64,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<(Version, i32), Bytes> for Weight {
    fn weight(&self, _: &(Version, i32), chunk: &Bytes) -> u64 {
        OVERHEAD + chunk.len() as u64
    }
}

impl Weighter<(Version, Box<str>), Arc<FilesAtPath>> for Weight {
    fn weight(&self, (_, path): &(Version, Box<str>), place: &Arc<FilesAtPath>) -> u64 {
        let of_file = |file: &ApplicationFile| OVERHEAD + (file.path.len() + file.content_type.len()) as u64;
        let files = [Some(&place.file), place.brotli.as_ref(), place.gzip.as_ref()];
        OVERHEAD + path.len() as u64 + files.into_iter().flatten().map(of_file).sum::<u64>()
    }
}

impl HostedFiles {
    /// Creates a cache of at most this many bytes.
    pub fn new(database: Database, bytes: usize) -> Self {
        let bytes = bytes as u64;
        let (places, chunks) = (bytes / SHARE_OF_PLACES, bytes - bytes / SHARE_OF_PLACES);
        Self {
            database,
            chunks: Cache::with_weighter((chunks / CHUNK as u64) as usize, chunks, Weight),
            places: Cache::with_weighter((places / (4 * OVERHEAD)) as usize, places, Weight),
            longest: bytes / SHARE_OF_ONE_FILE,
        }
    }

    /// Looks up the files that a version has at a path without leading and trailing slashes; for a directory, its index
    /// page. Missing paths are not cached, because their number is unlimited.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn find(&self, version: &Version, path: &str) -> Result<Option<Arc<FilesAtPath>>> {
        let key = (version.clone(), Box::from(path));
        if let Some(place) = self.places.get(&key) {
            return Ok(Some(place));
        }
        let index = if path.is_empty() { INDEX.to_owned() } else { format!("{path}/{INDEX}") };
        let packed = [path, &*index].map(|path| [format!("{path}.br"), format!("{path}.gz")]);
        let [own, of_index] = &packed;
        let paths = [path, &own[0], &own[1], &index, &of_index[0], &of_index[1]];
        let mut files = Box::pin(find_files(&self.database, &version.owner, version.binary, &paths)).await?;
        let mut take = |path: &str| {
            let at = files.iter().position(|file| file.path == path)?;
            Some(files.swap_remove(at))
        };
        let (file, [brotli, gzip], is_directory) = match (take(path), take(&index)) {
            (Some(file), _) => (file, own, false),
            (None, Some(file)) => (file, of_index, true),
            (None, None) => return Ok(None),
        };
        let place = Arc::new(FilesAtPath { file, brotli: take(brotli), gzip: take(gzip), is_directory });
        self.places.insert(key, place.clone());
        Ok(Some(place))
    }

    /// Returns a chunk of a version. The chunks of files that are too long for the cache come from the database. When
    /// several readers request the same chunk, only one of them reads it.
    ///
    /// # Errors
    /// `NotFound` when the version is no longer active; `Unavailable` or `Database`.
    async fn chunk(&self, version: &Version, number: i32, length: i64) -> Result<Bytes> {
        let key = (version.clone(), number);
        if let Some(chunk) = self.chunks.get(&key) {
            return Ok(chunk);
        }
        // The future is boxed, so that a cached chunk costs little.
        let read = Box::pin(read_chunk(&self.database, &version.owner, version.binary, number));
        if length.unsigned_abs() > self.longest {
            read.await
        } else {
            Box::pin(self.chunks.get_or_insert_async(&key, read)).await
        }
    }
}

/// Streams a range of a file, one slice of a chunk at a time. The next chunk is looked up when the connection has
/// accepted the previous one; the first is looked up immediately.
///
/// # Errors
/// The errors of the stream: `NotFound` when the version is no longer active; `Unavailable` or `Database`.
pub async fn read(
    files: web::Data<HostedFiles>,
    version: Version,
    file: &ApplicationFile,
    range: Range<u64>,
) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
    let start = file.start.unsigned_abs();
    let mut reading =
        Reading { files, version, at: start + range.start, end: start + range.end, length: file.length };
    let first = reading.next().await?;
    Ok(stream::try_unfold((first, reading), |(ready, mut reading)| async move {
        let piece = match ready {
            Some(piece) => Some(piece),
            None => reading.next().await?,
        };
        Ok(piece.map(|piece| (piece, (None, reading))))
    }))
}

/// The progress of a reader in a file.
struct Reading {
    files: web::Data<HostedFiles>,
    version: Version,
    /// The position within the binary.
    at: u64,
    end: u64,
    /// The length of the whole file.
    length: i64,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let chunk = CHUNK as u64;
        let number = i32::try_from(self.at / chunk).map_err(|_| self.gone())?;
        let bytes = self.files.chunk(&self.version, number, self.length).await?;
        let from = (self.at % chunk) as usize;
        let until =
            bytes.len().min(from.saturating_add(usize::try_from(self.end - self.at).unwrap_or(usize::MAX)));
        if from >= until {
            return Err(self.gone());
        }
        self.at += (until - from) as u64;
        Ok(Some(bytes.slice(from..until)))
    }

    fn gone(&self) -> Error {
        Error::not_found(Noun::Binary, self.version.binary)
    }
}
