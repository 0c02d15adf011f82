//! Files of hosted applications, as far as this server keeps them in memory for all its threads.
//!
//! What is kept are the rows of a binary, 256 KiB each, and what there is at a path. Both belong to one version, which never
//! changes: another upload is another binary. So nothing is ever out of date, only forgotten; and who reads slowly holds one row,
//! whatever the length of the file.

use std::ops::Range;
use std::sync::Arc;

use actix_web::web;
use bytes::Bytes;
use futures_util::{Stream, stream};
use platform_actors::model::application::Application;
use platform_actors::model::id::{ApplicationId, BinaryId, TenantId};
use platform_actors::store::application_versions::{ApplicationFile, find_files};
use platform_actors::store::binaries::{CHUNK, read_chunk};
use platform_actors::{Error, Noun, Result};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::server::Edge;

/// The share of the memory that what there is at paths may take.
const SHARE_OF_PLACES: u64 = 16;
/// A file that takes a larger share of the memory would push out many others.
const SHARE_OF_ONE_FILE: u64 = 4;
/// What an entry takes beside its texts and bytes.
const OVERHEAD: u64 = 256;
/// The file that is shown for a directory.
const INDEX: &str = "index.html";

/// A version of an application. Numbers of binaries are those of a tenant, numbers of applications of the deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    application: ApplicationId,
    binary: BinaryId,
    owner: TenantId,
}

impl Version {
    /// The one in use; `None` before the first upload.
    pub fn in_use(application: &Application) -> Option<Self> {
        let binary = application.active_version?;
        Some(Self { application: application.id, binary, owner: application.owner.clone() })
    }
}

/// What there is at a path.
#[derive(Debug)]
pub struct Place {
    /// The file as it is.
    pub file: ApplicationFile,
    /// Packed by `br`, if the application brings that.
    pub brotli: Option<ApplicationFile>,
    /// Packed by `gzip`, if the application brings that.
    pub gzip: Option<ApplicationFile>,
    /// Whether the path is a directory, of which this is the page.
    pub is_directory: bool,
}

/// See the module.
#[derive(Debug)]
pub struct HostedFiles {
    chunks: Cache<(Version, i32), Bytes, Weight>,
    places: Cache<(Version, Box<str>), Arc<Place>, Weight>,
    /// Files that are longer are read from the database, chunk by chunk.
    longest: u64,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<(Version, i32), Bytes> for Weight {
    fn weight(&self, _: &(Version, i32), chunk: &Bytes) -> u64 {
        OVERHEAD + chunk.len() as u64
    }
}

impl Weighter<(Version, Box<str>), Arc<Place>> for Weight {
    fn weight(&self, (_, path): &(Version, Box<str>), place: &Arc<Place>) -> u64 {
        let of_file = |file: &ApplicationFile| OVERHEAD + (file.path.len() + file.content_type.len()) as u64;
        let files = [Some(&place.file), place.brotli.as_ref(), place.gzip.as_ref()];
        OVERHEAD + path.len() as u64 + files.into_iter().flatten().map(of_file).sum::<u64>()
    }
}

impl HostedFiles {
    /// Keeps at most this many bytes.
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes as u64;
        let (places, chunks) = (bytes / SHARE_OF_PLACES, bytes - bytes / SHARE_OF_PLACES);
        Self {
            chunks: Cache::with_weighter((chunks / CHUNK as u64) as usize, chunks, Weight),
            places: Cache::with_weighter((places / (4 * OVERHEAD)) as usize, places, Weight),
            longest: bytes / SHARE_OF_ONE_FILE,
        }
    }

    /// What a version has at a path without slashes at its ends; of a directory its page. What there is not is not remembered,
    /// for of that there is no end.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn find(&self, edge: &Edge, version: &Version, path: &str) -> Result<Option<Arc<Place>>> {
        let key = (version.clone(), Box::from(path));
        if let Some(place) = self.places.get(&key) {
            return Ok(Some(place));
        }
        let index = if path.is_empty() { INDEX.to_owned() } else { format!("{path}/{INDEX}") };
        let packed = [path, &*index].map(|path| [format!("{path}.br"), format!("{path}.gz")]);
        let [own, of_index] = &packed;
        let paths = [path, &own[0], &own[1], &index, &of_index[0], &of_index[1]];
        let database = edge.platform.database();
        let mut files = Box::pin(find_files(database, &version.owner, version.binary, &paths)).await?;
        let mut take = |path: &str| {
            let at = files.iter().position(|file| file.path == path)?;
            Some(files.swap_remove(at))
        };
        let (file, [brotli, gzip], is_directory) = match (take(path), take(&index)) {
            (Some(file), _) => (file, own, false),
            (None, Some(file)) => (file, of_index, true),
            (None, None) => return Ok(None),
        };
        let place = Arc::new(Place { file, brotli: take(brotli), gzip: take(gzip), is_directory });
        self.places.insert(key, place.clone());
        Ok(Some(place))
    }

    /// A chunk of a version; of a file that is too long to be kept from the database. Of many that want one chunk one reads it.
    ///
    /// # Errors
    /// `NotFound` when the version is not in use any more; `Unavailable` or `Database`.
    async fn chunk(&self, edge: &Edge, version: &Version, number: i32, length: i64) -> Result<Bytes> {
        let key = (version.clone(), number);
        if let Some(chunk) = self.chunks.get(&key) {
            return Ok(chunk);
        }
        // On the heap, so that what is kept costs little.
        let read = Box::pin(read_chunk(edge.platform.database(), &version.owner, version.binary, number));
        match length.unsigned_abs() > self.longest {
            true => read.await,
            false => Box::pin(self.chunks.get_or_insert_async(&key, read)).await,
        }
    }
}

/// Some bytes of a file, a slice of a chunk at a time: the next is looked for when the connection has taken the last. The first
/// is looked for at once.
///
/// # Errors
/// As the stream: `NotFound` when the version is not in use any more; `Unavailable` or `Database`.
pub async fn read(
    edge: web::Data<Edge>,
    version: Version,
    file: &ApplicationFile,
    range: Range<u64>,
) -> Result<impl Stream<Item = Result<Bytes>> + use<>> {
    let start = file.start.unsigned_abs();
    let mut reading =
        Reading { edge, version, at: start + range.start, end: start + range.end, length: file.length };
    let first = reading.next().await?;
    Ok(stream::try_unfold((first, reading), |(ready, mut reading)| async move {
        let piece = match ready {
            Some(piece) => Some(piece),
            None => reading.next().await?,
        };
        Ok(piece.map(|piece| (piece, (None, reading))))
    }))
}

/// How far somebody has come in a file.
struct Reading {
    edge: web::Data<Edge>,
    version: Version,
    /// In the binary.
    at: u64,
    end: u64,
    /// Of the whole file.
    length: i64,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let chunk = CHUNK as u64;
        let number = i32::try_from(self.at / chunk).map_err(|_| self.gone())?;
        let bytes = self.edge.hosted_files.chunk(&self.edge, &self.version, number, self.length).await?;
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
