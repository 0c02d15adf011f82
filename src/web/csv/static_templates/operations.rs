//! Static rows for operations: list pending ones (500), report on the oldest one with a fragment (501 to 503)
//! or on one by id (504 to 506).

use std::collections::{HashMap, HashSet};

use actix_web::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use platform_model::data::operation::OperationStatus;
use platform_model::fragments::Fragments;
use platform_model::id::{ManagedObjectId, OperationId};
use platform_store::data::operations::queues;
use serde_json::Value;

use super::completion::Completion;
use super::json_object::raw;
use super::queue::{OperationQueue, QueuedOperation};
use super::serials::serials_of;
use super::{Row, responses};
use crate::csv::engine::Engine;
use crate::csv::line::Lines;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

/// The number of times a row looks for an operation, or at one, when a concurrent request changed it first.
/// Each time another request succeeds, so only this many concurrent requests of one agent could exhaust it.
const ATTEMPTS: usize = 256;

/// The report of a row on the oldest operation with a fragment.
enum OperationReport<'r> {
    /// 501: started.
    Begun,
    /// 502: failed, optionally with a reason.
    Failed(Option<&'r str>),
    /// 503: completed, with its result.
    Done(Option<Completion<'r>>),
}

/// Executes a row.
pub(super) async fn perform(id: u32, row: &Row<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    let Row { engine, arguments, .. } = *row;
    if id == 500 {
        arguments.none()?;
        return list_pending(engine, lines).await;
    }
    let subject = arguments.mandatory(0)?;
    match id {
        501 | 504 => arguments.at_most(1)?,
        502 | 505 => arguments.at_most(2)?,
        _ => {}
    }
    match id {
        501 => report_oldest(engine, subject, &OperationReport::Begun).await,
        502 => report_oldest(engine, subject, &OperationReport::Failed(arguments.text(1))).await,
        503 => {
            let completion = Completion::parse(subject, arguments)?;
            report_oldest(engine, subject, &OperationReport::Done(completion)).await
        }
        504 => report(engine, subject, &status_of(OperationStatus::Executing, None)).await,
        505 => report(engine, subject, &status_of(OperationStatus::Failed, arguments.text(1))).await,
        506 => complete(row, subject).await,
        _ => Err(Refusal::InvalidMessageId),
    }
}

/// The size of lines in bytes after which the remaining operations wait for the agent's next request.
const MANY_BYTES: usize = 16 << 20;

/// Writes the lines of all operations pending for the agent, oldest first (H-12), up to the size limit.
async fn list_pending(engine: &Engine<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    let agent = engine.own_device().await?;
    let mut pages = OperationQueue::OfAgent(agent).pages(&engine.rest, OperationStatus::Pending);
    while lines.bytes() < MANY_BYTES
        && let Some(page) = pages.next::<Value>().await?
    {
        let serials = serials(engine, &page).await?;
        for operation in &page {
            let device = operation["deviceId"].as_str().unwrap_or_default();
            let serial = serials.get(device).map_or(device, String::as_str);
            responses::write(operation, serial, engine.csv, lines);
        }
    }
    Ok(())
}

/// Returns the serials of the devices of operations; those without a serial are omitted (H-13).
async fn serials(engine: &Engine<'_>, operations: &[Value]) -> Result<HashMap<String, String>, Refusal> {
    let device = |operation: &Value| ManagedObjectId::parse(operation["deviceId"].as_str()?).ok();
    let devices: HashSet<ManagedObjectId> = operations.iter().filter_map(device).collect();
    let devices: Vec<_> = devices.into_iter().collect();
    let serials = serials_of(engine.csv, &engine.caller.tenant, &devices).await?;
    Ok(serials.into_iter().map(|(device, name)| (device.to_string(), name)).collect())
}

/// Reports on the oldest operation in the preceding status that has a fragment (H-07). If a concurrent
/// request changes it first, the next oldest is looked up.
async fn report_oldest(
    engine: &Engine<'_>,
    fragment: &str,
    report: &OperationReport<'_>,
) -> Result<(), Refusal> {
    // No operation has such a fragment, and no query could contain it.
    if fragment.contains('\0') {
        return Err(Refusal::Rest(StatusCode::NOT_FOUND));
    }
    let queue = OperationQueue::OfAgent(engine.own_device().await?);
    for _ in 0..ATTEMPTS {
        let found = queue.oldest(&engine.rest, report.preceding(), fragment).await?;
        let found = found.ok_or(Refusal::Rest(StatusCode::NOT_FOUND))?;
        match report.carry_out(engine, &found).await {
            // A concurrent request changed or deleted it.
            Err(Refusal::Rest(StatusCode::CONFLICT | StatusCode::NOT_FOUND)) => {}
            done => return done,
        }
    }
    Err(Refusal::Rest(StatusCode::CONFLICT))
}

impl OperationReport<'_> {
    fn preceding(&self) -> OperationStatus {
        match self {
            Self::Begun => OperationStatus::Pending,
            Self::Failed(_) | Self::Done(_) => OperationStatus::Executing,
        }
    }

    async fn carry_out(&self, engine: &Engine<'_>, operation: &QueuedOperation) -> Result<(), Refusal> {
        let change = match self {
            Self::Begun => status_of(OperationStatus::Executing, None),
            Self::Failed(reason) => status_of(OperationStatus::Failed, *reason),
            Self::Done(completion) => done(engine, operation, completion.as_ref()).await?,
        };
        put(engine, &operation.id(), &change, Some(self.preceding())).await
    }
}

/// Executes 504 and 505: an operation has started, or has failed.
async fn report(engine: &Engine<'_>, id: &str, change: &Fragments) -> Result<(), Refusal> {
    is_for_acting_device(engine, id).await?;
    put(engine, id, change, None).await
}

/// Rejects an operation whose nearest agent is not the acting device, because it belongs to another agent
/// (O-06a). A caller that is not a device and names none acts by its rights alone.
///
/// # Errors
/// 404 for an operation of another agent.
async fn is_for_acting_device(engine: &Engine<'_>, id: &str) -> Result<(), Refusal> {
    let Some(agent) = engine.known_device().await? else { return Ok(()) };
    let Ok(operation) = OperationId::parse(id) else { return Ok(()) };
    let (database, tenant) = (engine.csv.platform.database(), &engine.caller.tenant);
    match queues::is_for(database, tenant, operation, agent).await? {
        Some(false) => Err(Refusal::Rest(StatusCode::NOT_FOUND)),
        Some(true) | None => Ok(()),
    }
}

/// Executes 506: completes an operation, with the parameters that its own fragment takes. An operation that
/// is SUCCESSFUL already does not change, and neither does its device, which may have changed since.
async fn complete(row: &Row<'_>, id: &str) -> Result<(), Refusal> {
    let Row { engine, arguments, .. } = *row;
    is_for_acting_device(engine, id).await?;
    for _ in 0..ATTEMPTS {
        let answer = engine.rest.call(Call::get(path(id))).await?;
        let operation: Option<QueuedOperation> = answer.parsed().await?;
        let operation = operation.ok_or(Refusal::Rest(StatusCode::INTERNAL_SERVER_ERROR))?;
        let status = operation.text("status").unwrap_or_default();
        let status = OperationStatus::parse(&status)?;
        let change = match status {
            OperationStatus::Successful => status_of(OperationStatus::Successful, None),
            _ => {
                let completion = Completion::of_operation(&operation, arguments)?;
                done(engine, &operation, completion.as_ref()).await?
            }
        };
        match put(engine, id, &change, Some(status)).await {
            // A concurrent request changed it.
            Err(Refusal::Rest(StatusCode::CONFLICT)) => {}
            done => return done,
        }
    }
    Err(Refusal::Rest(StatusCode::CONFLICT))
}

/// Changes the device as a completed operation requires, and returns the change of the operation (H-08).
///
/// The device is changed first: a client that sees SUCCESSFUL also sees the result. If the row fails
/// in between, the operation is still EXECUTING, so a repetition of the row completes this operation and not
/// the next one.
async fn done(
    engine: &Engine<'_>,
    operation: &QueuedOperation,
    completion: Option<&Completion<'_>>,
) -> Result<Fragments, Refusal> {
    let mut change = status_of(OperationStatus::Successful, None);
    let Some(completion) = completion else { return Ok(change) };
    if let Some((name, value)) = completion.of_device(operation) {
        let mut fragments = Fragments::default();
        fragments.set(&name, value);
        let path = format!("/inventory/managedObjects/{}", operation.device());
        engine.rest.call(Call::put(path, fragments.to_json())).await?;
    }
    if let Some((name, value)) = completion.result(operation) {
        change.set(&name, value);
    }
    Ok(change)
}

async fn put(
    engine: &Engine<'_>,
    id: &str,
    change: &Fragments,
    only_from: Option<OperationStatus>,
) -> Result<(), Refusal> {
    let call = Call::put(path(id), change.to_json());
    match only_from {
        Some(status) => engine.rest.call_only_from(call, status).await?,
        None => engine.rest.call(call).await?,
    };
    Ok(())
}

fn path(id: &str) -> String {
    format!("/devicecontrol/operations/{}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

/// Returns the body of a status change.
fn status_of(status: OperationStatus, reason: Option<&str>) -> Fragments {
    let mut change = Fragments::default();
    change.set("status", raw(status.as_str()));
    if let Some(reason) = reason {
        change.set("failureReason", raw(reason));
    }
    change
}
