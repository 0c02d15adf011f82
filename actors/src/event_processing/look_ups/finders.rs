//! Finders with filters, such as `findOneAlarmBySourceAndStatusAndType`, run the same list queries as clients
//!
//!
//! If an argument is null or is text that is not an id, nothing matches.

use std::sync::Arc;

use platform_epl::plan::expression::{Filter, Take};
use platform_epl::value::{Object, ObjectKind, Value, time_of};
use platform_model::access::Authority;
use platform_model::data::alarm::{AlarmFilter, AlarmStatus};
use platform_model::data::event::EventFilter;
use platform_model::data::measurement::MeasurementFilter;
use platform_model::data::operation::{OperationFilter, OperationStatus};
use platform_model::devices::managed_object::ManagedObjectFilter;
use platform_model::error::{Error, Result};
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::page::{PageRequest, TimeOrder, TotalPages};
use platform_model::timestamp::Timestamp;
use platform_store::Database;
use platform_store::data::alarms::collection::list_alarms;
use platform_store::data::events::collection::list_events;
use platform_store::data::measurements::collection::list_measurements;
use platform_store::data::operations::collection::list_operations;
use platform_store::devices::inventory::collection::list_managed_objects;
use platform_store::devices::inventory::links;

use super::{WANTED, known_id};
use crate::event_processing::writes::cells::milliseconds;

/// The maximum number of objects that a finder returns.
const MOST: u32 = 1000;
const BY_ROLE: Authority = Authority::Role;

/// The filters with their arguments.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    source: Option<ManagedObjectId>,
    agent: Option<ManagedObjectId>,
    status: Option<String>,
    type_: Option<String>,
    fragment_type: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Wanted {
    /// Reads the arguments in the order of the filters; returns `None` if nothing can match them.
    ///
    /// # Errors
    /// Returns `Invalid` if an argument has the wrong type for its filter, or if the kind does not support a
    /// filter.
    pub(super) fn of(kind: ObjectKind, filters: &[Filter], arguments: &[Value]) -> Result<Option<Self>> {
        let mut wanted = Self::default();
        let mut arguments = arguments.iter();
        for filter in filters {
            if !filter.applies_to(kind) {
                let what = format!("{kind:?} by {filter:?}");
                return Err(Error::invalid_value("finder", what, "what lists can be asked for"));
            }
            let Some(value) = arguments.next().filter(|value| !matches!(value, Value::Null)) else {
                return Ok(None);
            };
            let text = || value.as_text().map(|text| text.into_owned());
            match filter {
                Filter::Status => wanted.status = text(),
                Filter::Type => wanted.type_ = text(),
                Filter::FragmentType => wanted.fragment_type = text(),
                Filter::Source | Filter::Device | Filter::Agent => {
                    let Some(id) = known_id(value, ManagedObjectId::parse)? else { return Ok(None) };
                    match filter {
                        Filter::Agent => wanted.agent = Some(id),
                        _ => wanted.source = Some(id),
                    }
                }
                Filter::TimeBetween | Filter::CreationTimeBetween => {
                    let Some(end) = arguments.next().filter(|value| !matches!(value, Value::Null)) else {
                        return Ok(None);
                    };
                    (wanted.from, wanted.to) = (Some(time(value)?), Some(time(end)?));
                }
            }
        }
        Ok(Some(wanted))
    }
}

/// Reads a time: a date, its text, or milliseconds since 1970.
fn time(value: &Value) -> Result<Timestamp> {
    let wrong = || Error::invalid_value("time", value.as_text().unwrap_or_default(), "a date");
    match value {
        Value::Time(time) => Ok(*time),
        Value::Text(text) => Timestamp::parse_bound("time", text),
        value => milliseconds(value).and_then(time_of).ok_or_else(wrong),
    }
}

/// Finds the objects that match all filters.
///
/// # Errors
/// Returns `Invalid` if `One` finds no object or more than one, or if an argument is invalid; otherwise
/// `Timeout`, `Unavailable` or `Database`.
pub(super) async fn find(
    database: &Database,
    tenant: &TenantId,
    kind: ObjectKind,
    take: Take,
    filters: &[Filter],
    arguments: &[Value],
) -> Result<Value> {
    let found = match Wanted::of(kind, filters, arguments)? {
        Some(wanted) => list(database, tenant, kind, wanted, take).await?,
        None => Vec::new(),
    };
    taken(take, found)
}

/// Converts the list of matches to the result of the finder.
pub(super) fn taken(take: Take, mut found: Vec<Value>) -> Result<Value> {
    match (take, found.len()) {
        (Take::All, _) => Ok(Value::List(found.into())),
        (Take::First, 0) => Ok(Value::Null),
        (Take::One, 0) => Err(Error::Invalid("a look-up for exactly one found none".into())),
        (Take::One, 2..) => Err(Error::Invalid("a look-up for exactly one found several".into())),
        (Take::First | Take::One, _) => Ok(found.swap_remove(0)),
    }
}

/// Lists the matches newest first, except that managed objects are in ascending order of id, as in the
/// inventory.
async fn list(
    database: &Database,
    tenant: &TenantId,
    kind: ObjectKind,
    wanted: Wanted,
    take: Take,
) -> Result<Vec<Value>> {
    let size = match take {
        Take::First => 1,
        Take::One => 2,
        Take::All => MOST,
    };
    let page = PageRequest { size, current: 1, after: None, total: TotalPages::Omitted };
    let Wanted { source, agent, status, type_, fragment_type, from: date_from, to: date_to } = wanted;
    let (order, with_descendants) = (TimeOrder::NewestFirst, Vec::new());
    Ok(match kind {
        ObjectKind::Alarm => {
            let statuses = status.map(|word| AlarmStatus::parse(&word)).transpose()?.into_iter().collect();
            let (severities, types) = (Vec::new(), type_.into_iter().collect());
            let filter = AlarmFilter {
                statuses,
                severities,
                types,
                source,
                with_descendants,
                date_from,
                date_to,
                order,
            };
            let found = list_alarms(database, tenant, &filter, &BY_ROLE, &page).await?;
            values(found.members, Object::Alarm)
        }
        ObjectKind::Event => {
            let filter =
                EventFilter { type_, fragment_type, source, with_descendants, date_from, date_to, order };
            values(list_events(database, tenant, &filter, &BY_ROLE, &page).await?.members, Object::Event)
        }
        ObjectKind::Measurement => {
            let (value_fragment_type, value_fragment_series) = (None, None);
            let filter = MeasurementFilter {
                source,
                date_from,
                date_to,
                type_,
                fragment_type,
                value_fragment_type,
                value_fragment_series,
                order,
            };
            let found = list_measurements(database, tenant, &filter, &BY_ROLE, &page).await?;
            values(found.members, Object::Measurement)
        }
        ObjectKind::Operation => {
            let status = status.map(|word| OperationStatus::parse(&word)).transpose()?;
            let (device, bulk_operation) = (source, None);
            let filter = OperationFilter {
                agent,
                device,
                status,
                bulk_operation,
                fragment_type,
                date_from,
                date_to,
                order,
            };
            let found = list_operations(database, tenant, &filter, &BY_ROLE, &page).await?;
            values(found.members, Object::Operation)
        }
        ObjectKind::ManagedObject => {
            let filter = ManagedObjectFilter { type_, fragment_type, ..ManagedObjectFilter::default() };
            let found = list_managed_objects(database, tenant, &filter, &BY_ROLE, "", &page).await?;
            let mut members = found.members;
            links::add_references(database, tenant, &mut members, WANTED).await?;
            values(members, Object::ManagedObject)
        }
    })
}

fn values<T>(found: Vec<T>, object: impl Fn(Arc<T>) -> Object) -> Vec<Value> {
    found.into_iter().map(|found| Value::Object(object(Arc::new(found)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn arguments_are_read_in_the_order_of_the_filters() {
        let filters = [Filter::Source, Filter::TimeBetween, Filter::Type];
        let arguments = [Value::Integer(7), Value::Integer(1000), text("1970-01-01T00:00:02Z"), text("t")];

        let wanted = Wanted::of(ObjectKind::Event, &filters, &arguments).expect("valid").expect("can match");

        assert_eq!((wanted.source, wanted.type_.as_deref()), (Some(ManagedObjectId(7)), Some("t")));
        let times = [wanted.from, wanted.to].map(|time| time.map(|time| time.to_string()));
        let expected = ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z"];
        assert_eq!(times, expected.map(|time| Some(time.to_owned())));
    }

    #[test]
    fn finder_without_a_valid_id_finds_no_object() {
        for arguments in [vec![Value::Null], vec![text("no id")], vec![]] {
            let wanted = Wanted::of(ObjectKind::Alarm, &[Filter::Source], &arguments).expect("no fault");
            assert!(wanted.is_none(), "{arguments:?}");
        }
    }

    #[test]
    fn invalid_arguments_are_faults() {
        for (kind, filter, argument) in [
            (ObjectKind::Alarm, Filter::Source, Value::Boolean(true)),
            (ObjectKind::Event, Filter::TimeBetween, text("yesterday")),
            (ObjectKind::Event, Filter::TimeBetween, Value::Integer(i64::MAX)),
            (ObjectKind::Alarm, Filter::FragmentType, text("plat_X")),
            (ObjectKind::ManagedObject, Filter::Source, text("7")),
        ] {
            let arguments = [argument.clone(), argument];
            assert!(Wanted::of(kind, &[filter], &arguments).is_err(), "{kind:?} by {filter:?}");
        }
    }

    #[test]
    fn one_requires_exactly_one_object_and_first_takes_the_first() {
        let found = |count: i64| (1..=count).map(Value::Integer).collect::<Vec<_>>();
        let shown = |take, count| taken(take, found(count)).map(|value| value.to_json());

        assert_eq!(shown(Take::One, 1).expect("found"), "1");
        assert!(shown(Take::One, 0).expect_err("none").to_string().contains("none"));
        assert!(shown(Take::One, 2).expect_err("several").to_string().contains("several"));
        assert_eq!(shown(Take::First, 0).expect("found"), "null");
        assert_eq!(shown(Take::First, 2).expect("found"), "1");
        assert_eq!(shown(Take::All, 0).expect("found"), "[]");
        assert_eq!(shown(Take::All, 2).expect("found"), "[1,2]");
    }
}
