//! Static rows for alarms. A device names only the type; its open alarm is looked up by the index of open
//! alarms.

use platform_model::access::Api;
use platform_model::id::{AlarmId, ManagedObjectId};
use platform_model::role;
use platform_model::timestamp::Timestamp;
use platform_store::data::alarms::find_open_alarm;

use super::Row;
use super::json_object::{JsonObject, removing};
use crate::csv::engine::Engine;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

const ALARMS: &str = "/alarm/alarms";

/// Executes a row.
pub(super) async fn perform(id: u32, row: &Row<'_>) -> Result<(), Refusal> {
    let arguments = row.arguments;
    match id {
        301 => raise(row, "CRITICAL").await,
        302 => raise(row, "MAJOR").await,
        303 => raise(row, "MINOR").await,
        304 => raise(row, "WARNING").await,
        305 => {
            arguments.at_most(2)?;
            let (type_, severity) = (arguments.mandatory(0)?, arguments.mandatory(1)?);
            change(row, type_, JsonObject::default().text("severity", Some(severity)).into_json()).await
        }
        306 => {
            arguments.at_most(1)?;
            let cleared = JsonObject::default().text("status", Some("CLEARED")).into_json();
            change(row, arguments.mandatory(0)?, cleared).await
        }
        307 => {
            let type_ = arguments.mandatory(0)?;
            arguments.mandatory(1)?;
            change(row, type_, removing(arguments.from(1))).await
        }
        _ => Err(Refusal::InvalidMessageId),
    }
}

/// Executes 301 to 304: raises an alarm, or counts a repetition.
async fn raise(row: &Row<'_>, severity: &str) -> Result<(), Refusal> {
    let (engine, arguments) = (row.engine, row.arguments);
    arguments.at_most(3)?;
    let (type_, time) = (arguments.mandatory(0)?, arguments.date(2)?);
    let text = arguments.text(1).map_or_else(|| format!("Alarm of type {type_} raised"), ToOwned::to_owned);
    let time = time.map_or_else(|| Timestamp::now().to_string(), ToOwned::to_owned);
    let source = engine.own_device().await?;
    let body = JsonObject::default()
        .object("source", JsonObject::default().text("id", Some(&source.to_string())))
        .text("type", Some(type_))
        .text("text", Some(&text))
        .text("severity", Some(severity))
        .text("time", Some(&time));
    engine.rest.call(Call::post(ALARMS, body.into_json())).await?;
    Ok(())
}

/// Executes 305 to 307: changes the open alarm of a type. A type has at most one, ACTIVE or ACKNOWLEDGED.
async fn change(row: &Row<'_>, type_: &str, body: String) -> Result<(), Refusal> {
    let source = row.engine.own_device().await?;
    let alarm = open_alarm(row.engine, source, type_).await?;
    row.engine.rest.call(Call::put(format!("{ALARMS}/{alarm}"), body)).await?;
    Ok(())
}

/// Looks up the open alarm of a type.
///
/// # Errors
/// 404 when there is none; 403 instead for a caller who could not change it.
async fn open_alarm(engine: &Engine<'_>, source: ManagedObjectId, type_: &str) -> Result<AlarmId, Refusal> {
    let (database, tenant) = (engine.csv.platform.database(), &engine.caller.tenant);
    // PostgreSQL stores no NUL, so no alarm has such a type.
    if !type_.contains('\0')
        && let Some(alarm) = find_open_alarm(database, tenant, source, type_).await?
        && let Some(id) = alarm.id
    {
        return Ok(id);
    }
    Err(engine.nothing_to_change(source, role::ALARM_ADMIN, Api::Alarm).await)
}
