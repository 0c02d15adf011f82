//! What the server itself tells of managed objects: read with their references, one statement for a page.
//!
//! Queries ask of it too (I-08): then it is put together for each row that is looked at, by SQL that says the same as
//! [`model::availability`](crate::model::availability).

use std::collections::HashMap;

use deadpool_postgres::GenericClient;

use super::filter::Filtered;
use crate::error::Result;
use crate::model::availability::{
    ACTIVE_ALARMS_STATUS, AVAILABILITY, Availability, CONNECTION, OpenAlarms, ResponseInterval,
    SERVER_FRAGMENTS, ServerFragments, is_device,
};
use crate::model::id::TenantId;
use crate::model::inventory_query::{FragmentPath, Operator, Value};
use crate::model::managed_object::ManagedObject;
use crate::model::timestamp::Timestamp;
use crate::naming::naming;

const LIST_SERVER_FRAGMENTS: &str =
    include_str!("../../../sql/queries/availability/list_server_fragments.sql");

/// What there is to tell of some objects, by id. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(super) async fn told(
    client: &impl GenericClient,
    tenant: &TenantId,
    ids: &[i64],
) -> Result<HashMap<i64, ServerFragments>> {
    let tenant = tenant.as_str();
    let statement = client.prepare_cached(LIST_SERVER_FRAGMENTS).await?;
    let rows = client.query(&statement, &[&tenant, &ids]).await?;
    Ok(rows.iter().map(|row| (row.get(0), from_row(row))).collect())
}

/// Puts into an object what there is to tell of it. Devices without alarms show that they have none.
pub(super) fn complete(object: &mut ManagedObject, told: &HashMap<i64, ServerFragments>) {
    let mut told = object.id.and_then(|id| told.get(&id.0)).copied().unwrap_or_default();
    if told.open_alarms == Some(OpenAlarms::default()) {
        told.open_alarms = None;
    }
    if is_device(&object.fragments) {
        told.open_alarms.get_or_insert_default();
    }
    object.server_fragments = told;
}

fn from_row(row: &tokio_postgres::Row) -> ServerFragments {
    let open = OpenAlarms { critical: row.get(1), major: row.get(2), minor: row.get(3), warning: row.get(4) };
    let watched = row.get::<_, Option<i16>>(6).map(|interval| Availability {
        interval: ResponseInterval(interval),
        last_message: Timestamp::stored(row.get(7), 0),
        overdue: row.get::<_, Option<bool>>(8).unwrap_or(false),
        critical: row.get(5),
        connected: row.get::<_, Option<bool>>(9).unwrap_or(false),
    });
    ServerFragments { open_alarms: Some(open), availability: watched }
}

/// Whether `managed_objects o` is watched. The tenant is parameter 1 in all of these.
const IS_WATCHED: &str = "EXISTS (SELECT FROM availability w WHERE w.tenant = $1 AND w.device = o.id)";
/// Whether it has an open alarm.
pub(super) const HAS_OPEN_ALARM: &str =
    "EXISTS (SELECT FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND a.status <> 'CLEARED')";
/// `plat_ActiveAlarmsStatus` as JSON.
const OPEN_ALARMS: &str = "(SELECT jsonb_build_object( \
        'critical', count(*) FILTER (WHERE a.severity = 'CRITICAL'), \
        'major', count(*) FILTER (WHERE a.severity = 'MAJOR'), \
        'minor', count(*) FILTER (WHERE a.severity = 'MINOR'), \
        'warning', count(*) FILTER (WHERE a.severity = 'WARNING')) \
    FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND a.status <> 'CLEARED')";
/// `plat_Availability` as JSON.
const WATCHED: &str = "(SELECT jsonb_build_object( \
        'lastMessage', to_char(w.last_message AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
        'status', CASE \
            WHEN w.response_interval <= 0 THEN 'MAINTENANCE' \
            WHEN w.due_at <= now() THEN 'UNAVAILABLE' \
            WHEN EXISTS (SELECT FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND a.status = 'ACTIVE' \
                AND a.severity = 'CRITICAL') THEN 'UNAVAILABLE' \
            ELSE 'AVAILABLE' END) \
    FROM availability w WHERE w.tenant = $1 AND w.device = o.id)";
/// `plat_Connection` as JSON; null where it is absent.
const CONNECTED: &str = "(SELECT jsonb_build_object('status', told.status) FROM (SELECT CASE \
            WHEN w.response_interval <= 0 THEN 'MAINTENANCE' \
            WHEN EXISTS (SELECT FROM presence p WHERE p.tenant = $1 AND p.user_name = o.owner \
                AND p.connected_until > now()) THEN 'CONNECTED' \
            WHEN w.due_at <= now() THEN 'DISCONNECTED' END AS status \
        FROM availability w WHERE w.tenant = $1 AND w.device = o.id OFFSET 0) told \
    WHERE told.status IS NOT NULL)";

/// Which fragment of the server this is, without its prefix.
fn known(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix(&*naming().fragment_prefix)?;
    SERVER_FRAGMENTS.into_iter().find(|known| *known == bare)
}

/// A fragment of the server as a JSON expression on `managed_objects o`; `None` for what clients write.
pub(super) fn document(name: &str, filtered: &mut Filtered) -> Option<String> {
    Some(match known(name)? {
        AVAILABILITY => WATCHED.into(),
        CONNECTION => CONNECTED.into(),
        // Shown on every device, and on what has an open alarm.
        _ => format!("(CASE WHEN {} THEN {OPEN_ALARMS} END)", shows_alarms(filtered)),
    })
}

/// Whether `managed_objects o` shows a fragment of the server, in a form that indexes serve; `None` for what clients write.
pub(super) fn has_fragment(name: &str, filtered: &mut Filtered) -> Option<String> {
    Some(match known(name)? {
        AVAILABILITY => IS_WATCHED.into(),
        CONNECTION => format!("({IS_WATCHED} AND {CONNECTED} IS NOT NULL)"),
        _ => format!("({})", shows_alarms(filtered)),
    })
}

fn shows_alarms(filtered: &mut Filtered) -> String {
    let device = filtered.parameter(naming().fragment("IsDevice"));
    format!("o.fragment_names @> ARRAY[{device}::text] OR {HAS_OPEN_ALARM}")
}

/// Whether a comparison holds for a number of open alarms only if there are any: then few objects need a look.
pub(super) fn implies_open_alarm(path: &FragmentPath, operator: Operator, value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    let Ok(number) = number.parse::<f64>() else { return false };
    known(path.fragment()) == Some(ACTIVE_ALARMS_STATUS)
        && match operator {
            Operator::Greater => number >= 0.0,
            Operator::GreaterOrEqual | Operator::Equal => number > 0.0,
            _ => false,
        }
}
