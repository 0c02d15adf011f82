//! Static rows for events.

use platform_model::access::{Api, Authority};
use platform_model::data::event::EventFilter;
use platform_model::id::{EventId, ManagedObjectId};
use platform_model::naming::naming;
use platform_model::page::{PageRequest, TimeOrder, TotalPages};
use platform_model::role;
use platform_model::timestamp::Timestamp;
use platform_store::data::events::collection::list_events;

use super::json_object::{JsonObject, removing};
use super::{Row, device};
use crate::csv::engine::Engine;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

const EVENTS: &str = "/event/events";
/// The text of events from rows 401 and 402, which have no text argument.
const MOVED: &str = "Location updated";

/// Executes a row.
pub(super) async fn perform(id: u32, row: &Row<'_>) -> Result<(), Refusal> {
    match id {
        400 => create(row).await,
        401 => move_to(row).await,
        402 => {
            move_to(row).await?;
            device::put_fragment(row.engine, "Position", device::position(row.arguments)?).await
        }
        407 => remove_fragments(row).await,
        _ => Err(Refusal::InvalidMessageId),
    }
}

/// Executes 400: creates an event.
async fn create(row: &Row<'_>) -> Result<(), Refusal> {
    let arguments = row.arguments;
    arguments.at_most(3)?;
    let (type_, text) = (arguments.mandatory(0)?, arguments.mandatory(1)?);
    post(row, type_, text, arguments.date(2)?, JsonObject::default()).await
}

/// Executes 401: creates an event with the position of the device.
async fn move_to(row: &Row<'_>) -> Result<(), Refusal> {
    row.arguments.at_most(5)?;
    let (position, time) = (device::position(row.arguments)?, row.arguments.date(4)?);
    let fragments = JsonObject::default().object(&naming().fragment("Position"), position);
    post(row, &naming().fragment("LocationUpdate"), MOVED, time, fragments).await
}

async fn post(
    row: &Row<'_>,
    type_: &str,
    text: &str,
    time: Option<&str>,
    fragments: JsonObject,
) -> Result<(), Refusal> {
    let time = time.map_or_else(|| Timestamp::now().to_string(), ToOwned::to_owned);
    let source = row.engine.own_device().await?;
    let body = fragments
        .object("source", JsonObject::default().text("id", Some(&source.to_string())))
        .text("type", Some(type_))
        .text("text", Some(text))
        .text("time", Some(&time));
    row.engine.rest.call_in_turn(Call::post(EVENTS, body.into_json()), row.turn.take()).await?;
    Ok(())
}

/// Executes 407: removes fragments of the newest event of a type.
async fn remove_fragments(row: &Row<'_>) -> Result<(), Refusal> {
    let type_ = row.arguments.mandatory(0)?;
    let source = row.engine.own_device().await?;
    let event = newest_event(row.engine, source, type_).await?;
    let body = removing(row.arguments.from(1));
    row.engine.rest.call(Call::put(format!("{EVENTS}/{event}"), body)).await?;
    Ok(())
}

/// Looks up the newest event of a type. It checks no rights: the call that follows does.
///
/// # Errors
/// 404 when there is none; 403 instead for a caller who could not change it.
async fn newest_event(engine: &Engine<'_>, source: ManagedObjectId, type_: &str) -> Result<EventId, Refusal> {
    let (database, tenant) = (engine.csv.platform.database(), &engine.caller.tenant);
    let filter = EventFilter {
        type_: Some(type_.to_owned()),
        source: Some(source),
        order: TimeOrder::NewestFirst,
        ..EventFilter::default()
    };
    let first = PageRequest { size: 1, current: 1, after: None, total: TotalPages::Omitted };
    // PostgreSQL stores no NUL, so no event has such a type.
    if !type_.contains('\0') {
        let newest = list_events(database, tenant, &filter, &Authority::Role, &first).await?;
        if let Some(id) = newest.members.first().and_then(|event| event.id) {
            return Ok(id);
        }
    }
    Err(engine.nothing_to_change(source, role::EVENT_ADMIN, Api::Event).await)
}
