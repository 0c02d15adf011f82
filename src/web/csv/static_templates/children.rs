//! Static rows for the child devices of a gateway (H-13, H-14).

use platform_model::id::ManagedObjectId;
use platform_model::naming::naming;
use serde_json::Value;

use super::Row;
use super::acting_device::{Named, OBJECTS};
use super::json_object::JsonObject;
use super::serials::serials_of;
use crate::csv::engine::Engine;
use crate::csv::line::Lines;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

/// Executes 101: creates a child device with its serial, if there is none, and links it, whatever the
/// processing mode, because other rows depend on it.
pub(super) async fn add(row: &Row<'_>) -> Result<(), Refusal> {
    let (engine, arguments) = (row.engine, row.arguments);
    arguments.at_most(3)?;
    let serial = arguments.mandatory(0)?;
    let parent = engine.own_device().await?;
    let child = match engine.device_of(serial).await? {
        Some(child) => child,
        None => {
            let name = arguments.text(1).map_or_else(|| format!("Device {serial}"), ToOwned::to_owned);
            let type_ = arguments.text(2).map_or_else(|| naming().fragment("ChildDevice"), ToOwned::to_owned);
            let child = JsonObject::default()
                .text("name", Some(&name))
                .text("type", Some(&type_))
                .object(&naming().fragment("IsDevice"), JsonObject::default());
            match engine.create_named(Call::post(children_of(parent), child.into_json()), serial).await? {
                // The object was created as a child of this device.
                Named::Created(_) => return Ok(()),
                Named::Found(child) => child,
            }
        }
    };
    link(engine, parent, child).await
}

/// Links a child; an existing link stays (I-04).
async fn link(engine: &Engine<'_>, parent: ManagedObjectId, child: ManagedObjectId) -> Result<(), Refusal> {
    let object = JsonObject::default().text("id", Some(&child.to_string()));
    let reference = JsonObject::default().object("managedObject", object);
    engine.rest.persistent().call(Call::post(children_of(parent), reference.into_json())).await?;
    Ok(())
}

fn children_of(parent: ManagedObjectId) -> String {
    format!("{OBJECTS}/{parent}/childDevices")
}

/// Executes 105: responds with `106` and the serials of all child devices in the order they were added, and
/// the id of a child without a serial. Without children the line has no values.
pub(super) async fn list(row: &Row<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    row.arguments.none()?;
    let engine = row.engine;
    let device = engine.own_device().await?;
    let answer = engine.rest.call(Call::get(format!("{OBJECTS}/{device}"))).await?;
    let object = answer.json().await?.unwrap_or_default();
    let references = object["childDevices"]["references"].as_array().map(Vec::as_slice).unwrap_or_default();
    let id = |reference: &Value| ManagedObjectId::parse(reference["managedObject"]["id"].as_str()?).ok();
    let children: Vec<ManagedObjectId> = references.iter().filter_map(id).collect();
    let mut serials = serials_of(engine.csv, &engine.caller.tenant, &children).await?;
    let known_as = children.iter().map(|id| serials.remove(id).unwrap_or_else(|| id.to_string()));
    lines.push(std::iter::once("106".to_owned()).chain(known_as));
    Ok(())
}
