//! `/devicecontrol/bulkNewDeviceRequests`: registers devices by the rows of a file
//! (docs/rules.md#bulk-registration; N-10 to N-17).
//!
//! The file is received completely into a temporary file before its first row is read, so a slow upload holds
//! no database connection and a failed one changes nothing. Then rows are read and stored in batches of some
//! hundred; the next batch is read while one is stored. Memory use does not grow with the file or the
//! response. A registration ends early when its client has left or the server stops ([`under_way`]).

mod lines;
mod result;
mod rows;
mod text;
mod under_way;

use actix_web::HttpResponse;
use futures_util::{StreamExt, TryStreamExt, stream};
use platform_actors::Platform;
use platform_actors::background::bulk_registration::{BulkRegistration, HashedDevice, Registered, Uploader};
use platform_front::stop::Stop;
use platform_model::access::{Api, Permission};
use platform_model::body::missing;
use platform_model::devices::bulk_registration::{NewDevice, Row, RowIdentity, RowRequest};
use platform_model::error::Error;
use platform_model::id::TenantId;
use platform_model::role;

use result::RegistrationResult;
use rows::{ReceivedFile, RowReader};
use text::{LineEnds, Utf8Check};
use under_way::EarlyEnd;
pub use under_way::FilesUnderWay;

use crate::auth::{Authenticator, Caller};
use crate::http::RequestHead;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::file::FRAMING;
use crate::http::multipart::{Form, Part};
use crate::http::spool::Spool;

/// The number of passwords of a file that wait for their turn at the hashing threads at once.
const HASHED_AT_ONCE: usize = 2;

/// `POST /devicecontrol/bulkNewDeviceRequests`: registers the devices of the part `file`. Returns 201 with
/// the result of each row, even if all failed. Rows are stored batch by batch: if the client disconnects, the
/// server stops or the database fails, the registration ends, and the batches before stay (N-18). Sending the
/// same file again sets their passwords again (N-13).
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_ADMIN, 400 for a malformed form, 413 for a file with too many bytes, 415 for
/// a body that is not a form, 422 for a file with too many lines or without a row that can succeed (N-16), 429
/// while the tenant has too many files under way, 503 when the database fails or the server stops; then some of
/// the rows may be stored.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
    (files, stop): (Component<FilesUnderWay>, Component<Stop>),
) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_ADMIN)?;
    head.check_mode()?;
    let media_type = head.accepted("bulkNewDeviceRequest")?;
    let _file = files.begin(&caller.tenant, platform.limits().registration_files)?;
    let limit = platform.limits().bulk_registration_bytes;
    let lines = platform.limits().bulk_registration_lines;
    let mut form = Form::new(&head, body, limit.saturating_add(FRAMING)).await?;
    let received = Box::pin(receive(&mut form, (limit, lines))).await?;
    let rows = RowReader::open(received, caller.tenant.clone()).await?;
    let mut run = BulkRegistration::new(platform.into_inner(), uploader(&caller, &head));

    let registrar = Registrar {
        authenticator: &authenticator,
        tenant: &caller.tenant,
        end: EarlyEnd { head: &head, stop: &stop },
    };

    let outcome = Box::pin(registrar.register_all(&mut run, rows)).await;

    run.finish().await;
    outcome?.respond(media_type).await
}

fn uploader(caller: &Caller, head: &RequestHead) -> Uploader {
    Uploader {
        tenant: caller.tenant.clone(),
        user: caller.user.clone(),
        sees: caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read),
        links: head.links(),
    }
}

/// Receives the part `file`. Other parts of the form are ignored (C-08).
async fn receive(form: &mut Form, limits: (usize, usize)) -> Result<ReceivedFile> {
    let mut file = None;
    while let Some(part) = form.next().await? {
        match (part.name(), &file) {
            ("file", None) => file = Some(receive_file(part, limits).await?),
            ("file", Some(_)) => {
                return Err(Error::invalid_value("body", "part 'file' twice", "'file' once").into());
            }
            _ => {}
        }
    }
    file.ok_or_else(|| missing(&[("file", true)]).into())
}

/// Receives the file, up to a number of bytes and of lines.
async fn receive_file(mut part: Part, (limit, lines): (usize, usize)) -> Result<ReceivedFile> {
    let (mut spool, mut check, mut ends) = (Spool::default(), Utf8Check::default(), LineEnds::default());
    while let Some(chunk) = part.chunk().await? {
        if spool.length() + chunk.len() as u64 > limit as u64 {
            return Err(ApiError::TooLarge { limit });
        }
        check.look_at(&chunk);
        ends.look_at(&chunk);
        if ends.lines() > lines {
            let allowed = format!("at most {lines} lines; send the rest in further files");
            return Err(Error::invalid_value("file", format!("more than {lines} lines"), &allowed).into());
        }
        spool.write(&chunk).await?;
    }
    Ok(ReceivedFile { file: spool.finish().await?.file, encoding: check.encoding() })
}

/// The registration of the rows of one file.
struct Registrar<'a> {
    authenticator: &'a Authenticator,
    /// The tenant that hashes passwords in its turns: that of the caller.
    tenant: &'a TenantId,
    end: EarlyEnd<'a>,
}

impl Registrar<'_> {
    async fn register_all(&self, run: &mut BulkRegistration, rows: RowReader) -> Result<RegistrationResult> {
        let mut outcome = RegistrationResult::default();
        let mut reading = Some(rows.read());
        while let Some(read) = reading {
            let (rows, rest) = read.rows().await?;
            reading = rest.map(RowReader::read);
            for (place, registered) in self.register(run, rows).await? {
                outcome.note(&place, &registered).await?;
            }
        }
        Ok(outcome)
    }

    /// Registers a batch of rows. Returns the result of each, in order.
    async fn register(
        &self,
        run: &mut BulkRegistration,
        rows: Vec<Row>,
    ) -> Result<Vec<(RowIdentity, Registered)>> {
        let mut done = Vec::with_capacity(rows.len());
        let (mut devices, mut places) = (Vec::new(), Vec::new());
        let (mut requests, mut places_of_requests) = (Vec::new(), Vec::new());
        for Row { place, asks } in rows {
            match asks {
                Ok(RowRequest::Device(device)) => {
                    devices.push(*device);
                    places.push(place);
                }
                Ok(RowRequest::Request(request)) => {
                    requests.push(request);
                    places_of_requests.push(place);
                }
                Err(error) => done.push((place, Registered::Failed(error.to_string()))),
            }
        }
        let devices = self.end.or(self.hashed(devices)).await?;
        if !devices.is_empty() {
            let registered = self.end.soon_after(async { Ok(run.register(devices).await?) }).await?;
            done.extend(places.into_iter().zip(registered));
        }
        if !requests.is_empty() {
            let requested = self.end.soon_after(async { Ok(run.request(requests).await?) }).await?;
            done.extend(places_of_requests.into_iter().zip(requested));
        }
        done.sort_by_key(|(place, _)| place.line);
        Ok(done)
    }

    async fn hashed(&self, devices: Vec<NewDevice>) -> Result<Vec<HashedDevice>> {
        let hash = |device: NewDevice| async move {
            let password_hash = match &device.password {
                Some(password) => Some(self.authenticator.hash_of_device(self.tenant, &password.0).await?),
                None => None,
            };
            Ok(HashedDevice { device, password_hash })
        };
        stream::iter(devices).map(hash).buffered(HASHED_AT_ONCE).try_collect().await
    }
}
