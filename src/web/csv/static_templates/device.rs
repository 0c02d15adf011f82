//! Static rows for the acting device itself: its hardware, software and configuration.

use platform_model::devices::availability::ResponseInterval;
use platform_model::devices::reference::WantedReferences;
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;
use platform_store::devices::inventory::managed_objects::get_managed_object;

use super::acting_device::OBJECTS;
use super::json_object::{JsonObject, removing};
use super::{Arguments, Row, children};
use crate::csv::engine::Engine;
use crate::csv::line::Lines;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

const HARDWARE: [&str; 3] = ["serialNumber", "model", "revision"];
const MOBILE: [&str; 7] = ["imei", "iccid", "imsi", "mcc", "mnc", "lac", "cellId"];
/// The members of firmware, and of each piece of software.
const PACKAGE: [&str; 3] = ["name", "version", "url"];

/// Executes a row.
pub(super) async fn perform(id: u32, row: &Row<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    let (engine, arguments) = (row.engine, row.arguments);
    let fragment = match id {
        100 => return introduce(row).await,
        101 => return children::add(row).await,
        105 => return children::list(row, lines).await,
        107 => return remove_fragments(row).await,
        117 => return require_availability(row).await,
        110 => ("Hardware".to_owned(), texts(arguments, &HARDWARE)?),
        111 => ("Mobile".to_owned(), texts(arguments, &MOBILE)?),
        112 => {
            arguments.at_most(4)?;
            ("Position".to_owned(), position(arguments)?)
        }
        113 => ("Configuration".to_owned(), texts(arguments, &["config"])?),
        115 => ("Firmware".to_owned(), texts(arguments, &PACKAGE)?),
        120 => configuration(arguments)?,
        122 => ("Agent".to_owned(), agent(arguments)?),
        125 => {
            arguments.none()?;
            return put(engine, "{}".into()).await;
        }
        114 => return put_list(engine, "SupportedOperations", &given(arguments)).await,
        118 => return put_list(engine, "SupportedLogs", &given(arguments)).await,
        119 => return put_list(engine, "SupportedConfigurations", &given(arguments)).await,
        116 => return put_list(engine, "SoftwareList", &software(arguments)).await,
        _ => return Err(Refusal::InvalidMessageId),
    };
    put_fragment(engine, &fragment.0, fragment.1).await
}

/// Returns `plat_Position` from latitude, longitude, altitude and accuracy, which are the first four
/// arguments.
pub(super) fn position(arguments: Arguments<'_>) -> Result<JsonObject, Refusal> {
    let mut names = ["lat", "lng", "alt", "accuracy"].into_iter().enumerate();
    names
        .try_fold(JsonObject::default(), |position, (at, name)| Ok(position.raw(name, arguments.number(at)?)))
}

/// Replaces one fragment of the acting device.
pub(super) async fn put_fragment(
    engine: &Engine<'_>,
    name: &str,
    fragment: JsonObject,
) -> Result<(), Refusal> {
    put(engine, JsonObject::default().object(&naming().fragment(name), fragment).into_json()).await
}

async fn put_list(engine: &Engine<'_>, name: &str, items: &[impl serde::Serialize]) -> Result<(), Refusal> {
    put(engine, JsonObject::default().list(&naming().fragment(name), items).into_json()).await
}

/// Updates the acting device.
pub(super) async fn put(engine: &Engine<'_>, body: String) -> Result<(), Refusal> {
    let device = engine.own_device().await?;
    engine.rest.call(Call::put(format!("{OBJECTS}/{device}"), body)).await?;
    Ok(())
}

/// Executes 100: creates the device's object; an existing one does not change.
async fn introduce(row: &Row<'_>) -> Result<(), Refusal> {
    row.arguments.at_most(2)?;
    row.engine.introduce(row.arguments.text(0), row.arguments.text(1)).await
}

/// Executes 107: removes fragments.
async fn remove_fragments(row: &Row<'_>) -> Result<(), Refusal> {
    row.arguments.mandatory(0)?;
    put(row.engine, removing(row.arguments.from(0))).await
}

/// Executes 117: sets the expected interval of messages, unless one is set already, because a user may have
/// changed it. The call is made in any case, because the row counts as a message of the device.
async fn require_availability(row: &Row<'_>) -> Result<(), Refusal> {
    let (engine, arguments) = (row.engine, row.arguments);
    arguments.at_most(1)?;
    let minutes = arguments.integer(0)?;
    let device = engine.own_device().await?;
    let (database, tenant) = (engine.csv.platform.database(), &engine.caller.tenant);
    let object = get_managed_object(database, tenant, device, WantedReferences::NONE).await?;
    match minutes {
        Some(minutes) if ResponseInterval::required_by(&object.fragments).is_none() => {
            let interval = JsonObject::default().raw("responseInterval", Some(minutes));
            put_fragment(engine, "RequiredAvailability", interval).await
        }
        _ => put(engine, "{}".into()).await,
    }
}

/// Parses 120: the installed configuration of a type.
fn configuration(arguments: Arguments<'_>) -> Result<(String, JsonObject), Refusal> {
    arguments.at_most(4)?;
    let (type_, url) = (arguments.mandatory(0)?, arguments.mandatory(1)?);
    let time = arguments.date(3)?.map_or_else(|| Timestamp::now().to_string(), ToOwned::to_owned);
    let fragment = JsonObject::default()
        .text("type", Some(type_))
        .text("url", Some(url))
        .text("name", Some(arguments.text(2).unwrap_or(type_)))
        .text("time", Some(&time));
    Ok((format!("Configuration_{type_}"), fragment))
}

/// Parses 122: the agent software on the device.
fn agent(arguments: Arguments<'_>) -> Result<JsonObject, Refusal> {
    [0, 1, 3].into_iter().try_for_each(|at| arguments.mandatory(at).map(drop))?;
    texts(arguments, &["name", "version", "url", "maintainer"])
}

/// Parses 116: triples of name, version and URL.
fn software(arguments: Arguments<'_>) -> Vec<JsonObject> {
    let packages = arguments.from(0).chunks(PACKAGE.len()).map(Arguments);
    let given = packages.filter(|package| package.at_most(0).is_err());
    given.map(|package| JsonObject::default().texts(&PACKAGE, |at| package.text(at))).collect()
}

fn texts(arguments: Arguments<'_>, names: &[&str]) -> Result<JsonObject, Refusal> {
    arguments.at_most(names.len())?;
    Ok(JsonObject::default().texts(names, |at| arguments.text(at)))
}

fn given(arguments: Arguments<'_>) -> Vec<&str> {
    arguments.from(0).iter().map(|value| &**value).filter(|value| !value.is_empty()).collect()
}
