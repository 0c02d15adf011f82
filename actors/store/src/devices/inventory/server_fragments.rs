//! Fragments that the server writes into managed objects. They are read with the references, one statement
//! per page.
//!
//! Queries use them too (I-08). For these they are computed for each row that is read, by SQL with the same rules as
//! [`model::availability`](platform_model::devices::availability).

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use platform_model::devices::availability::{
    ACTIVE_ALARMS_STATUS, AVAILABILITY, Availability, CONNECTION, OpenAlarms, ResponseInterval,
    SERVER_FRAGMENTS, ServerFragments, is_device,
};
use platform_model::devices::inventory_query::{FragmentPath, Operator, Value};
use platform_model::devices::managed_object::ManagedObject;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;

use crate::query::filter::Filtered;
use crate::query::prepared::PreparedQueries;

const LIST_SERVER_FRAGMENTS: &str =
    include_str!("../../../../../sql/queries/availability/list_server_fragments.sql");

/// Returns the server's fragments of some objects, by id. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub(crate) async fn load(
    client: &impl GenericClient,
    tenant: &TenantId,
    ids: &[i64],
) -> Result<HashMap<i64, ServerFragments>> {
    let tenant = tenant.as_str();
    let rows = client.rows(LIST_SERVER_FRAGMENTS, &[&tenant, &ids]).await?;
    Ok(rows.iter().map(|row| (row.get(0), from_row(row))).collect())
}

/// Adds the server's fragments to an object. Devices without alarms show that they have none.
pub(crate) fn complete(object: &mut ManagedObject, told: &HashMap<i64, ServerFragments>) {
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

/// Tests whether `managed_objects o` is watched. The tenant is parameter 1 in all of these expressions. OFFSET 0 makes
/// the planner look each row up by its key, because a test of the rows of a window must not scan a table.
const IS_WATCHED: &str =
    "EXISTS (SELECT FROM availability w WHERE w.tenant = $1 AND w.device = o.id OFFSET 0)";
/// Tests whether the object has an open alarm.
pub(crate) const HAS_OPEN_ALARM: &str = "EXISTS (SELECT FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND \
    a.status <> 'CLEARED' OFFSET 0)";
/// The same conditions as sets of ids, for pages that are not found in a window.
const WATCHED_IDS: &str = "o.id = ANY(ARRAY(SELECT w.device FROM availability w WHERE w.tenant = $1))";
const OPEN_ALARM_IDS: &str =
    "o.id = ANY(ARRAY(SELECT DISTINCT a.source FROM alarms a WHERE a.tenant = $1 AND a.status <> 'CLEARED'))";
/// The fragment `plat_ActiveAlarmsStatus` as JSON.
const OPEN_ALARMS: &str = "(SELECT jsonb_build_object( \
        'critical', count(*) FILTER (WHERE a.severity = 'CRITICAL'), \
        'major', count(*) FILTER (WHERE a.severity = 'MAJOR'), \
        'minor', count(*) FILTER (WHERE a.severity = 'MINOR'), \
        'warning', count(*) FILTER (WHERE a.severity = 'WARNING')) \
    FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND a.status <> 'CLEARED')";
/// The fragment `plat_Availability` as JSON.
const WATCHED: &str = "(SELECT jsonb_build_object( \
        'lastMessage', to_char(w.last_message AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
        'status', CASE \
            WHEN w.response_interval <= 0 THEN 'MAINTENANCE' \
            WHEN w.due_at <= now() THEN 'UNAVAILABLE' \
            WHEN EXISTS (SELECT FROM alarms a WHERE a.tenant = $1 AND a.source = o.id AND a.status = 'ACTIVE' \
                AND a.severity = 'CRITICAL') THEN 'UNAVAILABLE' \
            ELSE 'AVAILABLE' END) \
    FROM availability w WHERE w.tenant = $1 AND w.device = o.id)";
/// The fragment `plat_Connection` as JSON, or null when it is absent.
const CONNECTED: &str = "(SELECT jsonb_build_object('status', told.status) FROM (SELECT CASE \
            WHEN w.response_interval <= 0 THEN 'MAINTENANCE' \
            WHEN EXISTS (SELECT FROM presence p WHERE p.tenant = $1 AND p.user_name = o.owner \
                AND p.connected_until > now()) THEN 'CONNECTED' \
            WHEN w.due_at <= now() THEN 'DISCONNECTED' END AS status \
        FROM availability w WHERE w.tenant = $1 AND w.device = o.id OFFSET 0) told \
    WHERE told.status IS NOT NULL)";

/// Returns the name of a fragment of the server without its prefix; `None` for other fragments.
fn known(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix(&*naming().fragment_prefix)?;
    SERVER_FRAGMENTS.into_iter().find(|known| *known == bare)
}

/// Returns a fragment of the server as a JSON expression on `managed_objects o`; `None` for fragments that clients
/// write.
pub(crate) fn document(name: &str, filtered: &mut Filtered) -> Option<String> {
    Some(match known(name)? {
        AVAILABILITY => WATCHED.into(),
        CONNECTION => CONNECTED.into(),
        // Every device and every object with an open alarm shows this fragment.
        _ => format!("(CASE WHEN {} THEN {OPEN_ALARMS} END)", shows_alarms(filtered)),
    })
}

/// Returns a condition that `managed_objects o` shows a fragment of the server; `None` for fragments that clients
/// write.
pub(crate) fn has_fragment(name: &str, filtered: &mut Filtered) -> Option<String> {
    Some(match known(name)? {
        AVAILABILITY => IS_WATCHED.into(),
        CONNECTION => format!("({IS_WATCHED} AND {CONNECTED} IS NOT NULL)"),
        _ => format!("({})", shows_alarms(filtered)),
    })
}

/// Returns a superset of the objects that show a fragment of the server, in a form that finds them by their ids; `None`
/// for other fragments.
pub(crate) fn bound(name: &str) -> Option<&'static str> {
    known(name).filter(|known| *known != ACTIVE_ALARMS_STATUS).map(|_| WATCHED_IDS)
}

/// Returns the same for a comparison of a fragment.
pub(crate) fn bound_of_comparison(
    path: &FragmentPath,
    operator: Operator,
    value: &Value,
) -> Option<&'static str> {
    if implies_open_alarm(path, operator, value) { Some(OPEN_ALARM_IDS) } else { bound(path.fragment()) }
}

fn shows_alarms(filtered: &mut Filtered) -> String {
    let device = filtered.parameter(naming().fragment("IsDevice"));
    format!("o.fragment_names @> ARRAY[{device}::text] OR {HAS_OPEN_ALARM}")
}

/// Returns whether a comparison with the number of open alarms is true only if there are any; few objects need to be
/// read then.
pub(crate) fn implies_open_alarm(path: &FragmentPath, operator: Operator, value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    let Ok(number) = number.parse::<f64>() else { return false };
    known(path.fragment()) == Some(ACTIVE_ALARMS_STATUS)
        && match operator {
            Operator::Greater => number >= 0.0,
            Operator::GreaterOrEqual | Operator::Equal => number > 0.0,
            _ => false,
        }
}
