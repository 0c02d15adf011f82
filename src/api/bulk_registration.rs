//! `/devicecontrol/bulkNewDeviceRequests`: devices registered by the rows of a file (docs/rules.md#bulk-registration; N-10 to N-17).
//!
//! The file is received whole before its first row is looked at, into a temporary file: a slow upload holds no connection to
//! the database, and a broken one has done nothing. Then its rows are read and stored some hundred at a time, those that come
//! next being read meanwhile. Memory does not grow with the file, nor with the answer.

mod lines;
mod result;
mod rows;
mod text;

use actix_web::{HttpResponse, web};
use futures_util::{StreamExt, stream};
use platform_actors::Error;
use platform_actors::bulk_registration::{BulkRegistration, HashedDevice, Registered, Uploader};
use platform_actors::model::access::{Api, Permission};
use platform_actors::model::body::missing;
use platform_actors::model::bulk_registration::{Asked, NewDevice, Place, Row};
use platform_actors::model::role;

use result::Outcome;
use rows::{Received, Rows};
use text::Utf8Check;

use crate::auth::{Authenticator, Caller};
use crate::http::Wire;
use crate::http::body::Unread;
use crate::http::error::{ApiError, Result};
use crate::http::file::FRAMING;
use crate::http::multipart::{Form, Part};
use crate::http::spool::Spool;
use crate::server::Edge;

/// Passwords that are hashed at once. Few: those who log in wait behind them.
const HASHED_AT_ONCE: usize = 2;

/// `POST /devicecontrol/bulkNewDeviceRequests`: registers the devices of the part `file`; 201 with what became of its rows,
/// even if all failed. Rows are stored as the run comes to them: a run that ends in the middle, because a client goes away or
/// the database does, leaves those before. The same file sent again gives them their passwords once more (N-13).
///
/// # Errors
/// 403 without ROLE_DEVICE_CONTROL_ADMIN, 400 for a broken form, 413 for a file that is too large, 415 for no form, 422 when
/// no row of the file can be carried out (N-16), 503 when the database goes away; then part of the rows may be stored.
pub async fn create(caller: Caller, wire: Wire, body: Unread, edge: web::Data<Edge>) -> Result<HttpResponse> {
    caller.require(role::DEVICE_CONTROL_ADMIN)?;
    wire.check_mode()?;
    let media_type = wire.accepted("bulkNewDeviceRequest")?;
    let limit = edge.limits().bulk_registration_bytes;
    let mut form = Form::new(&wire, body, limit.saturating_add(FRAMING)).await?;
    let received = match Box::pin(receive(&mut form, limit)).await {
        Ok(received) => received,
        Err(refusal) => {
            form.refuse().await;
            return Err(refusal);
        }
    };
    let rows = Rows::open(received, caller.tenant.clone()).await?;
    let mut run = BulkRegistration::new(edge.platform.clone(), uploader(&caller, &wire));

    let outcome = Box::pin(register_all(&edge, &mut run, rows)).await;

    run.finish().await;
    outcome?.answer(media_type).await
}

fn uploader(caller: &Caller, wire: &Wire) -> Uploader {
    Uploader {
        tenant: caller.tenant.clone(),
        user: caller.user.clone(),
        sees: caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read),
        links: wire.links(),
    }
}

/// Receives the part `file`; what else the form holds is passed over (C-08).
async fn receive(form: &mut Form, limit: usize) -> Result<Received> {
    let mut file = None;
    while let Some(part) = form.next().await? {
        match (part.name(), &file) {
            ("file", None) => file = Some(receive_file(part, limit).await?),
            ("file", Some(_)) => {
                return Err(Error::invalid_value("body", "part 'file' twice", "'file' once").into());
            }
            _ => {}
        }
    }
    file.ok_or_else(|| missing(&[("file", true)]).into())
}

async fn receive_file(mut part: Part, limit: usize) -> Result<Received> {
    let (mut spool, mut check) = (Spool::default(), Utf8Check::default());
    while let Some(chunk) = part.chunk().await? {
        if spool.length() + chunk.len() as u64 > limit as u64 {
            return Err(ApiError::TooLarge { limit });
        }
        check.look_at(&chunk);
        spool.write(&chunk).await?;
    }
    Ok(Received { file: spool.finish().await?.file, encoding: check.encoding() })
}

async fn register_all(edge: &Edge, run: &mut BulkRegistration, rows: Rows) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut reading = Some(rows.read());
    while let Some(read) = reading {
        let (rows, rest) = read.rows().await?;
        reading = rest.map(Rows::read);
        for (place, registered) in register(edge, run, rows).await? {
            outcome.note(&place, &registered).await?;
        }
    }
    Ok(outcome)
}

/// Carries some rows out; gives what became of each, in order.
async fn register(
    edge: &Edge,
    run: &mut BulkRegistration,
    rows: Vec<Row>,
) -> Result<Vec<(Place, Registered)>> {
    let mut done = Vec::with_capacity(rows.len());
    let (mut devices, mut places) = (Vec::new(), Vec::new());
    let (mut requests, mut places_of_requests) = (Vec::new(), Vec::new());
    for Row { place, asks } in rows {
        match asks {
            Ok(Asked::Device(device)) => {
                devices.push(*device);
                places.push(place);
            }
            Ok(Asked::Request(request)) => {
                requests.push(request);
                places_of_requests.push(place);
            }
            Err(error) => done.push((place, Registered::Failed(error.to_string()))),
        }
    }
    if !devices.is_empty() {
        let devices = hashed(&edge.authenticator, devices).await?;
        done.extend(places.into_iter().zip(run.register(devices).await?));
    }
    if !requests.is_empty() {
        done.extend(places_of_requests.into_iter().zip(run.request(requests).await?));
    }
    done.sort_by_key(|(place, _)| place.line);
    Ok(done)
}

async fn hashed(authenticator: &Authenticator, devices: Vec<NewDevice>) -> Result<Vec<HashedDevice>> {
    let hash = |device: NewDevice| async move {
        let password_hash = authenticator.hash_of_device(&device.password.0).await?;
        Ok(HashedDevice { device, password_hash })
    };
    let hashed: Vec<Result<HashedDevice>> =
        stream::iter(devices).map(hash).buffered(HASHED_AT_ONCE).collect().await;
    hashed.into_iter().collect()
}
