//! `/platform` and the entry resource of each interface: links and URI templates that clients fill in (C-14).
//! They hold no data, so they require only the role.

use actix_web::HttpResponse;
use actix_web::http::header;
use platform_model::role;
use serde_json::{Map, Value, json};

use crate::auth::Caller;
use crate::http::RequestHead;
use crate::http::compatibility::ClientCompatibility;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};

/// The entry resource of one interface.
struct Entry {
    path: &'static str,
    media_type: &'static str,
    /// The roles of which one is required; empty: any authenticated caller.
    roles: &'static [&'static str],
    /// The collections: their name, their path and the name of their array.
    collections: &'static [(&'static str, &'static str, &'static str)],
    /// Other links and URI templates, by name.
    templates: &'static [(&'static str, &'static str)],
}

/// The collections of the inventory are filtered by what the caller may see, so every authenticated caller
/// may read its entry (I-05).
const INVENTORY: Entry = Entry {
    path: "/inventory",
    media_type: "inventoryApi",
    roles: &[],
    collections: &[("managedObjects", "/inventory/managedObjects", "references")],
    templates: &[
        ("managedObjectsForType", "/inventory/managedObjects?type={type}"),
        ("managedObjectsForFragmentType", "/inventory/managedObjects?fragmentType={fragmentType}"),
        ("managedObjectsForListOfIds", "/inventory/managedObjects?ids={ids}"),
        ("managedObjectsForText", "/inventory/managedObjects?text={text}"),
    ],
};

const IDENTITY: Entry = Entry {
    path: "/identity",
    media_type: "identityApi",
    roles: &[role::IDENTITY_READ],
    collections: &[],
    templates: &[
        ("externalId", "/identity/externalIds/{type}/{value}"),
        ("externalIdsOfGlobalId", "/identity/globalIds/{globalId}/externalIds"),
    ],
};

/// The template `externalId` in the historical spelling that some clients expect (C-20).
const COMPATIBLE_EXTERNAL_ID: &str = "/identity/externalIds/{type}/{externaId}";

const ALARM: Entry = Entry {
    path: "/alarm",
    media_type: "alarmApi",
    roles: &[role::ALARM_READ],
    collections: &[("alarms", "/alarm/alarms", "alarms")],
    templates: &[
        ("alarmsForStatus", "/alarm/alarms?status={status}"),
        ("alarmsForSource", "/alarm/alarms?source={source}"),
        ("alarmsForSourceAndStatus", "/alarm/alarms?source={source}&status={status}"),
        ("alarmsForTime", "/alarm/alarms?dateFrom={dateFrom}&dateTo={dateTo}"),
        ("alarmsForStatusAndTime", "/alarm/alarms?status={status}&dateFrom={dateFrom}&dateTo={dateTo}"),
        ("alarmsForSourceAndTime", "/alarm/alarms?source={source}&dateFrom={dateFrom}&dateTo={dateTo}"),
        (
            "alarmsForSourceAndStatusAndTime",
            "/alarm/alarms?source={source}&status={status}&dateFrom={dateFrom}&dateTo={dateTo}",
        ),
        // Clients know these parameter names; the collection accepts them beside its own.
        (
            "alarmsForSourceWithAssetsAndWithDevices",
            "/alarm/alarms?source={source}&withAssets={withAssets}&withDevices={withDevices}",
        ),
        ("alarmsForSeverity", "/alarm/alarms?severity={severity}"),
        ("alarmsForResolved", "/alarm/alarms?resolved={resolved}"),
    ],
};

const EVENT: Entry = Entry {
    path: "/event",
    media_type: "eventApi",
    roles: &[role::EVENT_READ],
    collections: &[("events", "/event/events", "events")],
    templates: &[
        ("eventsForType", "/event/events?type={type}"),
        ("eventsForSource", "/event/events?source={source}"),
        ("eventsForSourceAndType", "/event/events?source={source}&type={type}"),
        ("eventsForTime", "/event/events?dateFrom={dateFrom}&dateTo={dateTo}"),
        ("eventsForFragmentType", "/event/events?fragmentType={fragmentType}"),
        ("eventsForSourceAndTime", "/event/events?source={source}&dateFrom={dateFrom}&dateTo={dateTo}"),
        ("eventsForSourceAndFragmentType", "/event/events?source={source}&fragmentType={fragmentType}"),
        (
            "eventsForDateAndFragmentType",
            "/event/events?dateFrom={dateFrom}&dateTo={dateTo}&fragmentType={fragmentType}",
        ),
        ("eventsForFragmentTypeAndType", "/event/events?fragmentType={fragmentType}&type={type}"),
        ("eventsForTimeAndType", "/event/events?dateFrom={dateFrom}&dateTo={dateTo}&type={type}"),
        (
            "eventsForSourceAndDateAndFragmentType",
            "/event/events?source={source}&dateFrom={dateFrom}&dateTo={dateTo}&fragmentType={fragmentType}",
        ),
        (
            "eventsForSourceAndDateAndFragmentTypeAndType",
            "/event/events?source={source}&dateFrom={dateFrom}&dateTo={dateTo}&fragmentType={fragmentType}\
             &type={type}",
        ),
        (
            "eventsForSourceAndFragmentTypeAndType",
            "/event/events?source={source}&fragmentType={fragmentType}&type={type}",
        ),
        (
            "eventsForSourceAndTimeAndType",
            "/event/events?source={source}&dateFrom={dateFrom}&dateTo={dateTo}&type={type}",
        ),
        (
            "eventsForDateAndFragmentTypeAndType",
            "/event/events?dateFrom={dateFrom}&dateTo={dateTo}&fragmentType={fragmentType}&type={type}",
        ),
    ],
};

/// The templates are every combination of filters; see [`measurement_templates`].
const MEASUREMENT: Entry = Entry {
    path: "/measurement",
    media_type: "measurementApi",
    roles: &[role::MEASUREMENT_READ],
    collections: &[("measurements", "/measurement/measurements", "measurements")],
    templates: &[],
};

const DEVICE_CONTROL: Entry = Entry {
    path: "/devicecontrol",
    media_type: "devicecontrolApi",
    roles: &[role::DEVICE_CONTROL_READ],
    collections: &[("operations", "/devicecontrol/operations", "operations")],
    templates: &[
        ("operationsByStatus", "/devicecontrol/operations?status={status}"),
        ("operationsByAgentId", "/devicecontrol/operations?agentId={agentId}"),
        ("operationsByAgentIdAndStatus", "/devicecontrol/operations?agentId={agentId}&status={status}"),
        ("operationsByDeviceId", "/devicecontrol/operations?deviceId={deviceId}"),
        ("operationsByDeviceIdAndStatus", "/devicecontrol/operations?deviceId={deviceId}&status={status}"),
    ],
};

const AUDIT: Entry = Entry {
    path: "/audit",
    media_type: "auditApi",
    roles: &[role::AUDIT_READ],
    collections: &[("auditRecords", "/audit/auditRecords", "auditRecords")],
    templates: &[
        ("auditRecordsForType", "/audit/auditRecords?type={type}"),
        ("auditRecordsForUser", "/audit/auditRecords?user={user}"),
        ("auditRecordsForApplication", "/audit/auditRecords?application={application}"),
        ("auditRecordsForUserAndType", "/audit/auditRecords?user={user}&type={type}"),
        ("auditRecordsForUserAndApplication", "/audit/auditRecords?user={user}&application={application}"),
        ("auditRecordsForTypeAndApplication", "/audit/auditRecords?type={type}&application={application}"),
        (
            "auditRecordsForTypeAndUserAndApplication",
            "/audit/auditRecords?type={type}&user={user}&application={application}",
        ),
    ],
};

/// Any authenticated caller may read it (U-04).
const USER: Entry = Entry {
    path: "/user",
    media_type: "userApi",
    roles: &[],
    collections: &[],
    templates: &[
        ("userByName", "/user/{realm}/userByName/{userName}"),
        ("users", "/user/{realm}/users"),
        ("currentUser", "/user/currentUser"),
        ("groupByName", "/user/{realm}/groupByName/{groupName}"),
        ("groups", "/user/{realm}/groups"),
        ("roles", "/user/roles"),
    ],
};

/// The role has two names, and either is sufficient.
const APPLICATION: Entry = Entry {
    path: "/application",
    media_type: "applicationApi",
    roles: &[role::APPLICATION_READ, role::APPLICATION_MANAGEMENT_READ],
    collections: &[("applications", "/application/applications", "applications")],
    templates: &[
        ("applicationById", "/application/applications/{id}"),
        ("applicationsByName", "/application/applicationsByName/{name}"),
        ("applicationsByTenant", "/application/applicationsByTenant/{tenant}"),
        ("applicationsByOwner", "/application/applicationsByOwner/{tenant}"),
    ],
};

const CEP: Entry = Entry {
    path: "/cep",
    media_type: "cepApi",
    roles: &[role::CEP_MANAGEMENT_READ],
    collections: &[("modules", "/cep/modules", "modules")],
    templates: &[],
};

/// The entries that `/platform` embeds; `/application` and `/cep` are not among them (C-14).
const PLATFORM: [(&str, &Entry); 8] = [
    ("inventory", &INVENTORY),
    ("identity", &IDENTITY),
    ("event", &EVENT),
    ("measurement", &MEASUREMENT),
    ("audit", &AUDIT),
    ("alarm", &ALARM),
    ("user", &USER),
    ("deviceControl", &DEVICE_CONTROL),
];

const ENTRIES: [&Entry; 10] =
    [&INVENTORY, &IDENTITY, &ALARM, &EVENT, &MEASUREMENT, &DEVICE_CONTROL, &AUDIT, &USER, &APPLICATION, &CEP];

/// Returns the paths that [`get`] serves.
pub fn paths() -> impl Iterator<Item = &'static str> {
    ENTRIES.into_iter().map(|entry| entry.path)
}

/// `GET /platform`: returns the entry resources of all interfaces in one object, to every authenticated
/// caller.
///
/// # Errors
/// 406 for an unsupported type.
pub async fn platform(
    _: Caller,
    head: RequestHead,
    compatibility: Component<ClientCompatibility>,
) -> Result<HttpResponse> {
    let media_type = head.accepted("platformApi")?;
    let links = head.links();
    let mut body = Map::new();
    body.insert("self".into(), format!("{}/platform", links.base()).into());
    for (name, entry) in PLATFORM {
        body.insert(name.into(), entry.shown(links.base(), *compatibility));
    }
    Ok(respond(media_type, Value::Object(body)))
}

/// `GET` of one of [`paths`]: returns the entry resource.
///
/// # Errors
/// 403 without its role, 406 for an unsupported type.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    compatibility: Component<ClientCompatibility>,
) -> Result<HttpResponse> {
    let entry = ENTRIES.into_iter().find(|entry| entry.path == head.path());
    let entry = entry.ok_or_else(|| ApiError::NoSuchPath(head.path().to_owned()))?;
    if !entry.roles.is_empty() {
        caller.require_any(entry.roles)?;
    }
    let media_type = head.accepted(entry.media_type)?;
    Ok(respond(media_type, entry.shown(head.links().base(), *compatibility)))
}

fn respond(media_type: String, body: Value) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CONTENT_TYPE, media_type)).body(body.to_string())
}

impl Entry {
    fn shown(&self, base: &str, compatibility: ClientCompatibility) -> Value {
        let mut body = Map::new();
        body.insert("self".into(), format!("{base}{}", self.path).into());
        for (name, path, array) in self.collections {
            body.insert((*name).into(), json!({"self": format!("{base}{path}"), *array: []}));
        }
        for (name, template) in self.templates {
            let template = match *name {
                "externalId" if compatibility.is_on() => COMPATIBLE_EXTERNAL_ID,
                _ => template,
            };
            body.insert((*name).into(), format!("{base}{template}").into());
        }
        if self.path == MEASUREMENT.path {
            body.extend(measurement_templates(base));
        }
        Value::Object(body)
    }
}

/// Returns a template for every combination of filters, named after them in this order (G-04a).
fn measurement_templates(base: &str) -> impl Iterator<Item = (String, Value)> {
    const FILTERS: [(&str, &str); 5] = [
        ("Source", "source={source}"),
        ("Date", "dateFrom={dateFrom}&dateTo={dateTo}"),
        ("ValueFragmentType", "valueFragmentType={valueFragmentType}"),
        ("ValueFragmentSeries", "valueFragmentSeries={valueFragmentSeries}"),
        ("Type", "type={type}"),
    ];
    (1..1_u32 << FILTERS.len()).map(move |set| {
        let used = || FILTERS.iter().enumerate().filter(move |(n, _)| set & (1 << n) != 0).map(|(_, f)| f);
        let names: Vec<&str> = used().map(|(name, _)| *name).collect();
        let parameters: Vec<&str> = used().map(|(_, parameter)| *parameter).collect();
        let template = format!("{base}/measurement/measurements?{}", parameters.join("&"));
        (format!("measurementsFor{}", names.join("And")), template.into())
    })
}
