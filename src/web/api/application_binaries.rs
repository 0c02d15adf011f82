//! `/application/applications/<id>/binaries`: the archives of applications
//! (docs/rules.md#applications-and-microservices; W-01 to W-03).
//!
//! An archive is received completely into a temporary file and checked there. Then its files are stored
//! beside the active version, chunk by chunk, and replace it in one transaction. An upload that fails before
//! that transaction changes nothing.

use std::sync::Arc;

use actix_web::rt::task::spawn_blocking;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use platform_actors::Platform;
use platform_front::archive::{Archive, Sink};
use platform_model::applications::application::{Application, ApplicationType};
use platform_model::applications::manifest::{self, Manifest};
use platform_model::body::missing;
use platform_model::error::Error;
use platform_model::role;
use platform_store::applications::versions::{ApplicationFile, NewVersion};
use platform_store::data::binaries::Upload;
use tempfile::SpooledTempFile;
use tokio::sync::{Semaphore, mpsc};

use crate::api::applications::{self, ApplicationViews};
use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::file::FRAMING;
use crate::http::multipart::Form;
use crate::http::spool::{Spool, Spooled};
use crate::http::{RequestHead, reply};

/// The number of archives that one server unpacks at once.
const UNPACKED_AT_ONCE: usize = 4;
/// The number of chunks of files that are buffered between the disk and the database.
const PIECES: usize = 4;

/// Permits to unpack an archive.
pub struct Unpacking(Semaphore);

impl Default for Unpacking {
    fn default() -> Self {
        Self(Semaphore::new(UNPACKED_AT_ONCE))
    }
}

/// `POST /application/applications/<id>/binaries`: makes the part `file` of the form the active version.
/// Returns 204, or 201 with the application when the client names a JSON type in `Accept`.
///
/// # Errors
/// 403 without ROLE_APPLICATION_MANAGEMENT_ADMIN and for an application of another tenant, 404 for an
/// application that the tenant does not see, 400 for a malformed form, 413 for an archive that is too large,
/// 415 for a body that is not a form, 422 for an application type without archives, for a form without an
/// archive and for an archive that violates a rule, 409 when the context path of its manifest is taken.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
    views: Component<ApplicationViews>,
    unpacking: Component<Unpacking>,
) -> Result<HttpResponse> {
    caller.require(role::APPLICATION_MANAGEMENT_ADMIN)?;
    let media_type = head.accepted_by_name("application")?;
    let limit = platform.limits().application_bytes;
    let mut form = Form::new(&head, body, limit.saturating_add(FRAMING)).await?;
    let (application, archive) = Box::pin(receive(&platform, &caller, &path, &mut form)).await?;

    let (version, upload) = Box::pin(unpack(&platform, &unpacking, &application, archive)).await?;
    let (database, tenant) = (platform.database(), &caller.tenant);
    platform_store::applications::versions::activate(database, tenant, application.id, &version).await?;
    upload.keep();
    caller.log_change_of_rights("Application version activated", application.id);

    let Some(media_type) = media_type else { return Ok(HttpResponse::NoContent().finish()) };
    let seen = platform_store::applications::see_application(database, tenant, application.id).await?;
    let shown = Arc::new(views.show(seen));
    let links = head.links();
    Ok(reply::created(&head, media_type, links.application(application.id), &shown, &links))
}

/// Looks up the application and receives the part `file`. Other parts of the form are ignored (C-08).
async fn receive(
    platform: &Platform,
    caller: &Caller,
    id: &str,
    form: &mut Form,
) -> Result<(Application, Spooled)> {
    let application = applications::own(caller, platform, id).await?;
    if required(application.kind).is_empty() {
        let allowed = "HOSTED, MICROSERVICE; others take no archive";
        return Err(Error::invalid_value("type", application.kind.as_str(), allowed).into());
    }
    let (limit, mut file) = (platform.limits().application_bytes, None);
    while let Some(mut part) = form.next().await? {
        match (part.name(), &file) {
            ("file", None) => {
                let mut spool = Spool::default();
                while let Some(chunk) = part.chunk().await? {
                    if spool.length() + chunk.len() as u64 > limit as u64 {
                        return Err(ApiError::TooLarge { limit });
                    }
                    spool.write(&chunk).await?;
                }
                file = Some(spool.finish().await?);
            }
            ("file", Some(_)) => {
                return Err(Error::invalid_value("body", "part 'file' twice", "'file' once").into());
            }
            _ => {}
        }
    }
    let file = file.ok_or_else(|| missing(&[("file", true)]))?;
    Ok((application, file))
}

/// Returns the files an archive must hold at its root (W-02), each with the names that it may have; none for types that
/// have no archive.
fn required(kind: ApplicationType) -> Vec<Vec<String>> {
    match kind {
        ApplicationType::Hosted => vec![vec!["index.html".to_owned()]],
        ApplicationType::Microservice => vec![manifest::files(), vec!["image.tar".to_owned()]],
        ApplicationType::External | ApplicationType::ApamaCepRule => Vec::new(),
    }
}

/// Stores the files of an archive. They are not visible yet, and dropping the upload deletes them.
async fn unpack(
    platform: &Platform,
    unpacking: &Unpacking,
    application: &Application,
    archive: Spooled,
) -> Result<(NewVersion, Upload)> {
    let _turn = unpacking.0.acquire().await.map_err(Error::unavailable)?;
    let (kind, limit) = (application.kind, platform.limits().application_unpacked_bytes as u64);
    let archive = on_a_thread(move || {
        let archive = Archive::open(archive.file, archive.length, limit)?;
        check_complete(&archive, kind)?;
        Ok(archive)
    });
    let archive = archive.await?;
    let manifest_file = manifest::files().into_iter().find(|file| archive.has(file));
    let (database, id) = (platform.database(), platform.next_id()?);
    let mut upload = Upload::begin(database, &application.owner, id).await?;
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let unpacking = on_a_thread(move || archive.unpack(&mut Pieces { sender, digest: None }));

    let (mut files, mut text) = (Vec::<ApplicationFile>::new(), Vec::new());
    while let Some(piece) = pieces.recv().await {
        match (piece, files.last_mut()) {
            (Piece::Begin(path), _) => files.push(ApplicationFile {
                content_type: content_type(&path),
                path,
                sha256: Vec::new(),
                start: upload.length() as i64,
                length: 0,
            }),
            (Piece::Bytes(bytes), Some(file)) => {
                if Some(&file.path) == manifest_file.as_ref() && text.len() <= manifest::MAX_BYTES {
                    text.extend_from_slice(&bytes);
                }
                upload.write(bytes).await?;
            }
            (Piece::End(sha256), Some(file)) => {
                file.length = upload.length() as i64 - file.start;
                file.sha256 = sha256;
            }
            (Piece::Bytes(_) | Piece::End(_), None) => {}
        }
    }
    unpacking.await?;
    let manifest = manifest_file.map(|file| Manifest::parse(&file, &text)).transpose()?;
    let binary = upload.finish(format!("{}.zip", application.name), "application/zip".into()).await?;
    Ok((NewVersion { binary, files, manifest }, upload))
}

fn check_complete(archive: &Archive<SpooledTempFile>, kind: ApplicationType) -> Result<(), Error> {
    let listed =
        |files: &[&Vec<String>]| files.iter().map(|names| names.join(" or ")).collect::<Vec<_>>().join(", ");
    let required = required(kind);
    let is_absent = |names: &&Vec<String>| !names.iter().any(|name| archive.has(name));
    let absent = required.iter().filter(is_absent).collect::<Vec<_>>();
    if absent.is_empty() {
        Ok(())
    } else {
        Err(Error::Invalid(format!(
            "Invalid archive: missing at its root: {}; an application of type {} needs: {}",
            listed(&absent),
            kind.as_str(),
            listed(&required.iter().collect::<Vec<_>>())
        )))
    }
}

/// Runs blocking work, such as reading a disk and inflating, away from the threads that serve requests. The
/// work starts at once.
fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> {
    let running = spawn_blocking(work);
    async { running.await.map_err(Error::unavailable)? }
}

/// Returns the media type of a file, by its name.
fn content_type(path: &str) -> String {
    let guessed = match mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream") {
        "application/javascript" => "text/javascript",
        other => other,
    };
    let is_text = guessed.starts_with("text/")
        || ["javascript", "json", "xml"].iter().any(|end| guessed.ends_with(end));
    if is_text { format!("{guessed};charset=utf-8") } else { guessed.to_owned() }
}

/// A step of unpacking an archive.
enum Piece {
    Begin(String),
    Bytes(Bytes),
    /// The end of a file, with the digest of its bytes.
    End(Vec<u8>),
}

/// Sends the files of an archive to the task that stores them, no faster than it stores them.
struct Pieces {
    sender: mpsc::Sender<Piece>,
    digest: Option<ring::digest::Context>,
}

impl Pieces {
    /// Fails when the receiver was dropped. The receiver then reports its own error.
    fn send(&self, piece: Piece) -> Result<(), Error> {
        self.sender.blocking_send(piece).map_err(|_| Error::unavailable("an upload was abandoned"))
    }
}

impl Sink for Pieces {
    fn begin(&mut self, path: &str) -> Result<(), Error> {
        self.digest = Some(ring::digest::Context::new(&ring::digest::SHA256));
        self.send(Piece::Begin(path.to_owned()))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.send(Piece::Bytes(Bytes::copy_from_slice(bytes)))
    }

    fn end(&mut self) -> Result<(), Error> {
        let digest = self.digest.take().map(|digest| digest.finish().as_ref().to_vec());
        self.send(Piece::End(digest.unwrap_or_default()))
    }
}
