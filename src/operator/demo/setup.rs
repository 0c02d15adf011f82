//! The initial content of the tenant of a demo: devices with users and groups, retention rules, a module.

use form_urlencoded::Serializer;
use platform_model::naming::naming;
use platform_model::tenancy::retention::{DataType, LEAST_DAYS_OF_AUDIT};
use serde_json::{Value, json};

use super::plan::Plan;
use super::wire::Wire;
use super::world::World;
use crate::client::failure::{Code, Failure};

/// The retention of the demo's data in days, so that a demo that runs for weeks does not grow.
const DAYS: u32 = 3;
/// The objects per page.
const PAGE: usize = 1000;

/// The event-processing module that raises and clears the alarms of rooms.
const MODULE: &str = include_str!("cold_chain.epl");

/// The option that tells a console that the devices of this tenant are simulated, so that it offers to break things.
const MARK: &str = "/tenant/options/demo/fleet";

/// Creates whatever is missing in the tenant; existing objects stay.
///
/// # Errors
/// The server rejects a request.
pub(super) async fn prepare(world: &World, wire: &mut Wire) -> Result<(), Failure> {
    let result = wire.register(&file(world)).await?;
    if let Some(failed) = result["failedCreationList"].as_array().and_then(|failed| failed.first()) {
        let why = format!("a simulated device cannot be registered: {failed}");
        return Err(Failure::new(Code::Failed, why));
    }
    find_devices(world, wire).await?;
    keep_short(wire).await?;
    wire.change(MARK, json!({"value": "simulated"})).await?;
    match wire.put_text("/cep/modules", MODULE).await {
        Err(failure) if failure.code() != Code::Conflict => Err(failure),
        _ => Ok(()),
    }
}

/// Returns the CSV file that registers the devices with users. Each device gets a new password; a device that is new
/// also gets its managed object and groups.
fn file(world: &World) -> String {
    let agent = naming().model("Agent");
    let rows = world.fleet.iter().filter(|plan| plan.parent.is_none()).map(|plan| {
        let Plan { kind, serial, name, group, number, .. } = plan;
        format!("{serial};{};{};{name};{group};1\n", world.passwords[*number], kind.object_type())
    });
    format!("ID;CREDENTIALS;TYPE;NAME;PATH;{agent}\n{}", rows.collect::<String>())
}

/// Finds the managed objects of the devices by their owners.
async fn find_devices(world: &World, wire: &mut Wire) -> Result<(), Failure> {
    let query = format!("$filter=has({}) $orderby=name", naming().model("Agent"));
    for page in 1.. {
        let query = Serializer::new(String::new())
            .append_pair("query", &query)
            .append_pair("pageSize", &PAGE.to_string())
            .append_pair("currentPage", &page.to_string())
            .append_pair("withChildren", "false")
            .finish();
        let found = wire.read(&format!("/inventory/managedObjects?{query}")).await?;
        let found = found["managedObjects"].as_array().cloned().unwrap_or_default();
        for object in &found {
            let serial = object["owner"].as_str().and_then(|owner| owner.strip_prefix("device_"));
            let plan = world.fleet.iter().find(|plan| Some(plan.serial.as_str()) == serial);
            if let (Some(plan), Some(id)) = (plan, object["id"].as_str()) {
                world.set_id(plan.number, id);
            }
        }
        if found.len() < PAGE {
            break;
        }
    }
    let lost = world.fleet.iter().find(|plan| plan.parent.is_none() && world.id(plan.number).is_none());
    match lost {
        None => Ok(()),
        Some(plan) => {
            let why = format!("the user of {:?} is there, but its device was deleted", plan.name);
            Err(Failure::new(Code::NotFound, why)
                .hint("`platform demo --remove` deletes the whole demo; start it again then"))
        }
    }
}

/// Creates retention rules, unless the tenant has rules already. Audit records stay for the days that are the least
/// (Z-08a).
async fn keep_short(wire: &mut Wire) -> Result<(), Failure> {
    let rules = wire.read("/retention/retentions").await?;
    if rules["retentionRules"].as_array().is_some_and(|rules| !rules.is_empty()) {
        return Ok(());
    }
    for kind in DataType::ALL {
        let days = if kind == DataType::Audit { LEAST_DAYS_OF_AUDIT } else { DAYS };
        let rule = json!({"dataType": kind.as_str(), "maximumAge": days});
        wire.create("/retention/retentions", rule).await?;
    }
    Ok(())
}

/// Returns the ids and names of the innermost groups of the devices.
///
/// # Errors
/// The server rejects the query.
pub(super) async fn groups(wire: &mut Wire) -> Result<Vec<(String, String)>, Failure> {
    let kind = naming().fragment("IsDeviceGroup");
    let found = wire.read(&format!("/inventory/managedObjects?fragmentType={kind}&pageSize=200")).await?;
    let found = found["managedObjects"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(found.iter().map(|group| (text(&group["id"]), text(&group["name"]))).collect())
}
