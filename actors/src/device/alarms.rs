//! The alarms of one device.
//!
//! An alarm is *open* while it is ACTIVE or ACKNOWLEDGED. At most one alarm per type is open; a repetition increases
//! its count. Alarms are handled in order of arrival. The statement that writes an alarm decides by the unique index
//! whether it is new. So nothing is loaded before the first alarm of a device, and two processes agree.

use std::sync::Arc;

use actix::prelude::*;
use platform_model::access::Authority;
use platform_model::data::alarm::{Alarm, AlarmPatch, NewAlarm};
use platform_model::data::audit_record::{AttributeChange, NewAuditRecord};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::AlarmId;
use platform_model::origin::Origin;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::publication::Publication;
use platform_model::timestamp::Timestamp;
use platform_store::access::SourceObject;
use platform_store::data::alarms::{AlarmUpdate, SentAlarm};
use platform_store::writer::{Change, Written};

use super::{Cause, Device, DeviceActor, MAX_ATTEMPTS};

/// Raises an alarm, or counts a repetition when an alarm of this type is open.
///
/// Sent by the HTTP layer for `POST /alarm/alarms`. The reply is the stored alarm, whose `count` is 1 exactly if it
/// is new. Publishes CREATE or UPDATE. The tenant's severity mapping is applied first; an alarm whose type maps to
/// NONE is not raised, and the reply has no id. In mode TRANSIENT nothing is stored, the reply has no id, and
/// CREATE is published (M-02). While the source is in maintenance nothing is stored or published, and the reply has
/// no id.
///
/// # Errors
/// `Invalid` when the device does not exist, `Forbidden` when the caller must own the device and does not;
/// `Unavailable` or `Database`, and nothing was published then.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Alarm>>")]
pub struct RaiseAlarm {
    /// The body of the request.
    pub alarm: Arc<NewAlarm>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

/// Changes text, status, severity or fragments of an alarm and writes the audit record.
///
/// Sent by the HTTP layer for `PUT /alarm/alarms/<id>`. The reply is the current alarm. An update without changes
/// writes and publishes nothing. Otherwise it publishes UPDATE; in mode TRANSIENT nothing else happens (M-02).
///
/// # Errors
/// `NotFound`, `Forbidden`, `Conflict` when the alarm would be a second open alarm of its type, `PreconditionFailed`
/// (C-23), `Unavailable` or `Database`.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<Arc<Alarm>>")]
pub struct UpdateAlarm {
    /// The alarm as the HTTP layer read it.
    pub alarm: Arc<Alarm>,
    /// The body of the request.
    pub patch: Arc<AlarmPatch>,
    /// The caller and the mode of the request.
    pub origin: Arc<Origin>,
}

impl Handler<RaiseAlarm> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Alarm>>>;

    fn handle(&mut self, message: RaiseAlarm, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.raise_alarm(message).await)
    }
}

impl Handler<UpdateAlarm> for DeviceActor {
    type Result = AtomicResponse<Self, Result<Arc<Alarm>>>;

    fn handle(&mut self, message: UpdateAlarm, _: &mut Self::Context) -> Self::Result {
        self.exclusively(async move |device| device.update_alarm(message).await)
    }
}

impl Device {
    async fn raise_alarm(&mut self, message: RaiseAlarm) -> Result<Arc<Alarm>> {
        let origin = message.origin.clone();
        let alarm = self.raise_or_suppress(message).await?;
        self.context.record_heartbeat(self.id, &origin);
        Ok(alarm)
    }

    async fn raise_or_suppress(
        &mut self,
        RaiseAlarm { alarm: new, origin }: RaiseAlarm,
    ) -> Result<Arc<Alarm>> {
        let mappings = self.devices.mappings.get(&self.context.database, &self.context.tenant).await?;
        let Some(new) = mappings.apply(new.clone()) else {
            let source = self.authorize_raising(&new, &origin).await?;
            return Ok(Arc::new(new.suppressed(source.name.as_deref())));
        };
        if !origin.mode.stores() {
            return self.publish_unstored_alarm(&new, &origin).await;
        }
        let owner = matches!(origin.authority, Authority::Limited(_)).then(|| origin.user.clone());
        let id = AlarmId(self.context.ids.next()?);
        let mut sent = Arc::new(SentAlarm { alarm: new.raised(Some(id), None), owner, silent_since: None });

        let mut stored = self.write_sent(sent.clone(), &origin).await?;
        if stored.is_none() {
            let source = self.authorize_raising(&new, &origin).await?;
            if self.is_in_maintenance().await? {
                return Ok(Arc::new(new.suppressed(source.name.as_deref())));
            }
            // The caller is not the owner, but the look-up above showed that they have permission.
            Arc::make_mut(&mut sent).owner = None;
            stored = self.write_sent(sent, &origin).await?;
        }
        stored.ok_or_else(|| Error::unknown_source(self.id))
    }

    /// Raises an alarm or counts a repetition, and publishes CREATE or UPDATE. Returns `None` when the source does not
    /// exist, is not the caller's or is in maintenance.
    pub(super) async fn write_sent(
        &mut self,
        sent: Arc<SentAlarm>,
        origin: &Origin,
    ) -> Result<Option<Arc<Alarm>>> {
        let tenant = &self.context.tenant;
        let mut changes = vec![Change::RaiseAlarm(tenant.clone(), sent.clone())];
        if !sent.alarm.status.is_open() {
            changes.insert(0, Change::CountRepetition(tenant.clone(), sent.clone()));
        }
        for change in changes {
            let (source, cause, of_request) = (self.id, Cause::of(origin), sent.clone());
            let written = self.context.commit(change, origin, move |written| match written {
                Written::Alarm(stored) => {
                    let (alarm, is_new) = raised(&of_request.alarm, stored);
                    let change = if is_new {
                        PublishedChange::AlarmCreated(alarm)
                    } else {
                        PublishedChange::AlarmUpdated(alarm)
                    };
                    Some(Publication::Change { source, change, cause: cause.clone() })
                }
                _ => None,
            });
            match written.await {
                Ok(Written::Alarm(stored)) => return Ok(Some(raised(&sent.alarm, &stored).0)),
                Ok(_) => {}
                // The source was deleted between the look-up and the write.
                Err(error) if error.is_foreign_key_violation() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Authorizes raising an alarm. On POST a missing device is an invalid value in the body, not a 404 (E-01).
    async fn authorize_raising(&mut self, new: &NewAlarm, origin: &Origin) -> Result<SourceObject> {
        match self.authorize(origin, |_, name| new.fragments.get(name).is_some()).await {
            Err(Error::NotFound { .. }) => Err(Error::unknown_source(self.id)),
            other => other,
        }
    }

    /// Handles mode TRANSIENT: the alarm is published and not stored (M-02).
    async fn publish_unstored_alarm(&mut self, new: &NewAlarm, origin: &Origin) -> Result<Arc<Alarm>> {
        let source = self.authorize_raising(new, origin).await?;
        if self.is_in_maintenance().await? {
            return Ok(Arc::new(new.suppressed(source.name.as_deref())));
        }
        let alarm = Arc::new(new.raised(None, source.name.as_deref()));
        self.publish(PublishedChange::AlarmCreated(alarm.clone()), origin);
        self.context.published().await?;
        Ok(alarm)
    }

    /// Returns whether the device is in maintenance and raises no alarms.
    async fn is_in_maintenance(&self) -> Result<bool> {
        platform_store::devices::availability::is_in_maintenance(
            &self.context.database,
            &self.context.tenant,
            self.id,
        )
        .await
    }

    pub(super) async fn update_alarm(&mut self, message: UpdateAlarm) -> Result<Arc<Alarm>> {
        let UpdateAlarm { alarm: mut current, patch, origin } = message;
        let id = current.id.ok_or_else(|| Error::not_found(Noun::Alarm, "null"))?;
        self.authorize(&origin, |_, name| current.fragments.get(name).is_some()).await?;
        for _ in 0..MAX_ATTEMPTS {
            origin.check_revision(Noun::Alarm, id, current.revision)?;
            let mut alarm = Alarm::clone(&current);
            let changes = patch.apply(&mut alarm);
            if changes.is_empty() {
                return Ok(Arc::new(alarm));
            }
            if !origin.mode.stores() {
                let alarm = Arc::new(alarm);
                self.publish(PublishedChange::AlarmUpdated(alarm.clone()), &origin);
                self.context.published().await?;
                return Ok(alarm);
            }
            let (before, after) = (current.fragments.bytes(), alarm.fragments.bytes());
            let (database, tenant) = (&self.context.database, &self.context.tenant);
            database.ensure_recorded_growth(tenant, before, after, &changes)?;
            let audit = audit_record(id, &alarm, changes, &origin);
            let update = AlarmUpdate { alarm, audit_id: self.context.ids.next()?, audit };
            let change = Change::UpdateAlarm(self.context.tenant.clone(), Box::new(update));

            let (source, cause) = (self.id, Cause::of(&origin));

            let written = self.context.commit(change, &origin, move |written| match written {
                Written::Alarm(alarm) => {
                    let change = PublishedChange::AlarmUpdated(Arc::new(Alarm::clone(alarm)));
                    Some(Publication::Change { source, change, cause: cause.clone() })
                }
                _ => None,
            });

            match written.await {
                Ok(Written::Alarm(alarm)) => return Ok(Arc::new(*alarm)),
                Ok(_) => {
                    current = Arc::new(platform_store::data::alarms::get_alarm(database, tenant, id).await?);
                }
                Err(error) if error.is_unique_violation() => return Err(second_open(id, &current.type_)),
                Err(error) => return Err(error),
            }
        }
        Err(contended(&id.to_string()))
    }
}

/// Returns the alarm as it is shown after it was raised, and whether it is new or a repetition of an open one.
fn raised(sent: &Alarm, stored: &Alarm) -> (Arc<Alarm>, bool) {
    let is_new = stored.id == sent.id;
    let alarm = if is_new {
        Alarm { source_name: stored.source_name.clone(), ..sent.clone() }
    } else {
        stored.clone()
    };
    (Arc::new(alarm), is_new)
}

fn audit_record(
    id: AlarmId,
    alarm: &Alarm,
    changes: Vec<AttributeChange>,
    origin: &Origin,
) -> NewAuditRecord {
    NewAuditRecord {
        type_: "Alarm",
        activity: "Alarm updated",
        time: Timestamp::now(),
        text: "Alarm updated".into(),
        source: id.to_string(),
        user: origin.user.to_string(),
        application: origin.application.clone(),
        severity: alarm.severity.as_str().to_lowercase(),
        changes,
    }
}

fn second_open(id: AlarmId, type_: &str) -> Error {
    let message = format!("alarm '{id}' cannot be opened again: another alarm of type '{type_}' is open");
    Error::Conflict { noun: Noun::Alarm, message }
}

fn contended(what: &str) -> Error {
    let message = format!("alarm '{what}' is being changed by somebody else, try again");
    Error::Conflict { noun: Noun::Alarm, message }
}
