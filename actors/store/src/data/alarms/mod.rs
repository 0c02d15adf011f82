//! Alarms in PostgreSQL. Writes take the rows of one group commit and run inside the writer's transaction.

pub mod bulk_updates;
pub mod collection;

use std::collections::HashMap;
use std::sync::Arc;

use deadpool_postgres::GenericClient;
use platform_model::data::alarm::{Alarm, AlarmStatus, Severity};
use platform_model::data::audit_record::NewAuditRecord;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{AlarmId, ManagedObjectId, TenantId};
use platform_model::timestamp::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::prepared::PreparedQueries;
use crate::query::rows::fragments;
use crate::realtime::signatures::Signatures;
use crate::statistics::Counted;
use crate::write_kind::{Added, Rows, WriteKind};

const RAISE: &str = include_str!("../../../../../sql/queries/alarms/raise.sql");
const COUNT_REPETITION: &str = include_str!("../../../../../sql/queries/alarms/count_repetition.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/alarms/update.sql");
const FIND_OPEN: &str = include_str!("../../../../../sql/queries/alarms/find_open.sql");
const FIND: &str = include_str!("../../../../../sql/queries/alarms/find.sql");

/// An alarm after a PUT, with the audit record of the change.
#[derive(Debug, Clone)]
pub struct AlarmUpdate {
    /// The new state. Its `revision` is the one that was read: the alarm is updated only if it still has this revision.
    pub alarm: Alarm,
    /// The id of the audit record.
    pub audit_id: i64,
    /// The audit record of the change.
    pub audit: NewAuditRecord,
}

/// An alarm that a client sent.
#[derive(Debug, Clone)]
pub struct SentAlarm {
    /// The alarm to create when no alarm of this type is open.
    pub alarm: Alarm,
    /// The user who must own the source, when the caller writes by ownership.
    pub owner: Option<Arc<str>>,
    /// The time of the last message of the source. An unavailability alarm is raised only if no message came since
    ///
    pub silent_since: Option<Timestamp>,
}

/// Raises alarms, or increments the count of those that are open already, and returns them as they stand now, by source
/// and type. An alarm is left out when its source does not exist, does not belong to the caller or is in maintenance
///
///
/// The rows are sorted, so that two processes that raise the same alarms lock them in the same order.
#[derive(Debug)]
pub(crate) struct RaiseAlarm;

impl WriteKind for RaiseAlarm {
    type Change = SentAlarm;
    type Outcomes = HashMap<(i64, String), Alarm>;
    type Written = Alarm;

    const STATEMENTS: &'static [&'static str] = &[RAISE];
    const COUNTED: Counted = Counted::AlarmCreated;
    const ADDED: Added<'static> = Added::Data;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        rows.sort_unstable_by_key(|(tenant, sent)| (*tenant, sent.alarm.source, &sent.alarm.type_));
        let alarms = || rows.iter().map(|(_, sent)| &sent.alarm);
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let ids: Vec<i64> = alarms().map(|alarm| alarm.id.map_or(0, |id| id.0)).collect();
        let sources: Vec<i64> = alarms().map(|alarm| alarm.source.0).collect();
        let types: Vec<&str> = alarms().map(|alarm| &*alarm.type_).collect();
        let times: Vec<_> = alarms().map(|alarm| alarm.time.instant()).collect();
        let offsets: Vec<i16> = alarms().map(|alarm| alarm.time.offset_minutes()).collect();
        let texts: Vec<&str> = alarms().map(|alarm| &*alarm.text).collect();
        let statuses: Vec<&str> = alarms().map(|alarm| alarm.status.as_str()).collect();
        let severities: Vec<&str> = alarms().map(|alarm| alarm.severity.as_str()).collect();
        let created: Vec<_> = alarms().map(|alarm| alarm.creation_time.instant()).collect();
        let fragments: Vec<String> = alarms().map(|alarm| alarm.fragments.to_json()).collect();
        let owners: Vec<Option<&str>> = rows.iter().map(|(_, sent)| sent.owner.as_deref()).collect();
        let silent_since: Vec<_> =
            rows.iter().map(|(_, sent)| sent.silent_since.map(Timestamp::instant)).collect();
        let parameters: [&(dyn ToSql + Sync); 13] = [
            &tenants,
            &ids,
            &sources,
            &types,
            &times,
            &offsets,
            &texts,
            &statuses,
            &severities,
            &created,
            &fragments,
            &owners,
            &silent_since,
        ];
        by_key(client.rows(RAISE, &parameters).await?)
    }

    fn written(outcomes: &mut Self::Outcomes, sent: &Self::Change) -> Option<Self::Written> {
        outcomes.remove(&key(&sent.alarm))
    }

    fn counted(_: &Self::Change, alarm: &Self::Written) -> (Counted, u64) {
        (if alarm.count == 1 { Self::COUNTED } else { Counted::AlarmUpdated }, 1)
    }
}

/// Increments the count of alarms that are open already and returns them as they stand now, by source and type. An
/// alarm is left out when it is not open, or when its source does not exist or does not belong to the caller.
#[derive(Debug)]
pub(crate) struct CountRepetition;

impl WriteKind for CountRepetition {
    type Change = SentAlarm;
    type Outcomes = HashMap<(i64, String), Alarm>;
    type Written = Alarm;

    const STATEMENTS: &'static [&'static str] = &[COUNT_REPETITION];
    const COUNTED: Counted = Counted::AlarmUpdated;
    const ADDED: Added<'static> = Added::Nothing;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let alarms = || rows.iter().map(|(_, sent)| &sent.alarm);
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let sources: Vec<i64> = alarms().map(|alarm| alarm.source.0).collect();
        let types: Vec<&str> = alarms().map(|alarm| &*alarm.type_).collect();
        let times: Vec<_> = alarms().map(|alarm| alarm.time.instant()).collect();
        let offsets: Vec<i16> = alarms().map(|alarm| alarm.time.offset_minutes()).collect();
        let owners: Vec<Option<&str>> = rows.iter().map(|(_, sent)| sent.owner.as_deref()).collect();
        let parameters: [&(dyn ToSql + Sync); 6] = [&tenants, &sources, &types, &times, &offsets, &owners];
        by_key(client.rows(COUNT_REPETITION, &parameters).await?)
    }

    fn written(outcomes: &mut Self::Outcomes, sent: &Self::Change) -> Option<Self::Written> {
        outcomes.remove(&key(&sent.alarm))
    }
}

fn by_key(rows: Vec<Row>) -> Result<HashMap<(i64, String), Alarm>> {
    rows.iter().map(from_row).map(|alarm| alarm.map(|alarm| (key(&alarm), alarm))).collect()
}

/// Returns the key of an alarm among the open alarms of one batch. Ids of sources are unique over all tenants.
fn key(alarm: &Alarm) -> (i64, String) {
    (alarm.source.0, alarm.type_.clone())
}

/// Updates alarms, inserts their audit records and returns the alarms as they stand now, by id. Alarms that were
/// changed since they were read are left out.
#[derive(Debug)]
pub(crate) struct UpdateAlarm;

impl WriteKind for UpdateAlarm {
    type Change = AlarmUpdate;
    type Outcomes = HashMap<i64, Alarm>;
    type Written = Alarm;

    const STATEMENTS: &'static [&'static str] = &[UPDATE];
    const COUNTED: Counted = Counted::AlarmUpdated;
    const ADDED: Added<'static> = Added::Nothing;

    async fn run(
        client: &impl GenericClient,
        _: &Signatures,
        rows: &mut Rows<'_, Self>,
    ) -> Result<Self::Outcomes> {
        let tenants: Vec<&str> = rows.iter().map(|(tenant, _)| tenant.as_str()).collect();
        let ids: Vec<i64> = rows.iter().map(|(_, update)| update.alarm.id.map_or(0, |id| id.0)).collect();
        let revisions: Vec<i64> = rows.iter().map(|(_, update)| update.alarm.revision).collect();
        let texts: Vec<&str> = rows.iter().map(|(_, update)| &*update.alarm.text).collect();
        let statuses: Vec<&str> = rows.iter().map(|(_, update)| update.alarm.status.as_str()).collect();
        let severities: Vec<&str> = rows.iter().map(|(_, update)| update.alarm.severity.as_str()).collect();
        let fragments: Vec<String> =
            rows.iter().map(|(_, update)| update.alarm.fragments.to_json()).collect();
        let audit_ids: Vec<i64> = rows.iter().map(|(_, update)| update.audit_id).collect();
        let audit_times: Vec<_> = rows.iter().map(|(_, update)| update.audit.time.instant()).collect();
        let audit_texts: Vec<&str> = rows.iter().map(|(_, update)| &*update.audit.text).collect();
        let users: Vec<&str> = rows.iter().map(|(_, update)| &*update.audit.user).collect();
        let applications: Vec<Option<&str>> =
            rows.iter().map(|(_, update)| update.audit.application.as_deref()).collect();
        let audit_severities: Vec<&str> = rows.iter().map(|(_, update)| &*update.audit.severity).collect();
        let changes: Vec<String> = rows
            .iter()
            .map(|(_, update)| {
                serde_json::to_string(&update.audit.changes).expect("changes have string keys only")
            })
            .collect();
        let parameters: [&(dyn ToSql + Sync); 14] = [
            &tenants,
            &ids,
            &revisions,
            &texts,
            &statuses,
            &severities,
            &fragments,
            &audit_ids,
            &audit_times,
            &audit_texts,
            &users,
            &applications,
            &audit_severities,
            &changes,
        ];
        by_id(client.rows(UPDATE, &parameters).await?)
    }

    fn written(outcomes: &mut Self::Outcomes, update: &Self::Change) -> Option<Self::Written> {
        outcomes.remove(&update.alarm.id?.0)
    }
}

/// Returns an alarm with the name of its source.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_alarm(database: &Database, tenant: &TenantId, id: AlarmId) -> Result<Alarm> {
    let row = database.reader().await?.find(FIND, &[&tenant.as_str(), &id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::Alarm, id))?)
}

/// Looks up the open alarm of a type, with the name of its source.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_open_alarm(
    database: &Database,
    tenant: &TenantId,
    source: ManagedObjectId,
    type_: &str,
) -> Result<Option<Alarm>> {
    let row = database.loader().await?.find(FIND_OPEN, &[&tenant.as_str(), &source.0, &type_]).await?;
    row.as_ref().map(from_row).transpose()
}

fn by_id(rows: Vec<Row>) -> Result<HashMap<i64, Alarm>> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    rows.iter().map(|row| Ok((row.get(0), from_row(row)?))).collect()
}

/// Reads the columns of `find.sql` in their order.
pub(crate) fn from_row(row: &Row) -> Result<Alarm> {
    Ok(Alarm {
        id: Some(AlarmId(row.get(0))),
        source: ManagedObjectId(row.get(1)),
        type_: row.get(2),
        time: Timestamp::stored(row.get(3), row.get(4)),
        text: row.get(5),
        status: AlarmStatus::parse(row.get(6))?,
        severity: Severity::parse(row.get(7))?,
        count: row.get(8),
        first_occurrence_time: Timestamp::stored(row.get(9), row.get(10)),
        creation_time: Timestamp::stored(row.get(11), 0),
        revision: row.get(12),
        fragments: fragments(row, 13)?,
        source_name: row.get(14),
    })
}
