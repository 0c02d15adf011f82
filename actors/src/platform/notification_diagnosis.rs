//! The evidence for the diagnosis of a notification (B-38): records of traces, the present sessions or the consumer,
//! and the stored object.

use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::bayeux::channel::Endpoint;
use platform_model::realtime::client_session::{ClientSession, SessionFilter};
use platform_model::realtime::trace::diagnosis::{AskedReceiver, ConsumerEvidence, Diagnosis, Evidence};
use platform_model::realtime::trace::record::RecordFilter;
use platform_model::realtime::trace::{Trace, TraceSubject};
use platform_model::timestamp::{Timestamp, micros};
use platform_store::applications::modules;
use platform_store::realtime::journal;
use platform_store::{consumers, traces, users};

use super::{Platform, WantedSessions};

/// The most records of one diagnosis.
const MOST_RECORDS: usize = 5000;
/// The most sessions of a user that are looked at.
const MOST_SESSIONS: usize = 100;

/// A question why a change arrived at a receiver, or why it did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosisRequest {
    /// The id of the changed object, or of the object on whose channels the change is published.
    pub id: i64,
    /// The receiver.
    pub receiver: AskedReceiver,
    /// Since when changes are explained.
    pub since: Timestamp,
}

impl Platform {
    /// Explains what became of the changes of an object on their way to a receiver.
    ///
    /// # Errors
    /// `NotFound` for an unknown consumer; `Timeout`, `Unavailable` or `Database`.
    pub async fn diagnose_notifications(
        &self,
        tenant: &TenantId,
        DiagnosisRequest { id, receiver, since }: DiagnosisRequest,
    ) -> Result<Diagnosis> {
        let object = traces::find_object(&self.database, tenant, id).await?;
        let (user, session) = match &receiver {
            AskedReceiver::User(user) => (Some(user.clone()), None),
            AskedReceiver::Session(session) => (None, Some(session.clone())),
            AskedReceiver::Consumer(_) => (None, None),
        };
        let is_consumer = matches!(receiver, AskedReceiver::Consumer(_));
        // The beginning and the subscriptions of a session count, even if they were before that time.
        let filter = RecordFilter {
            since: if is_consumer { micros(since.instant()) } else { 0 },
            about: Some(id),
            user: user.clone(),
            session: session.clone(),
            limit: MOST_RECORDS,
        };
        let (sessions, mut missing) = match is_consumer {
            true => (Vec::new(), Vec::new()),
            false => self.sessions_of_receiver(tenant, user.clone(), session).await?,
        };
        // They come later than the sessions, so the end of a session that is missing there is among them.
        let found = self.list_records(tenant, &filter).await?;
        missing.extend(found.missing);
        missing.sort();
        missing.dedup();
        let running = traces::list_running(&self.database, Some(tenant)).await?;
        let source = object.map_or(id, |object| object.source.0);
        let covering =
            running.into_iter().map(|(_, trace)| trace).filter(|trace| covers(trace, source, &receiver));
        Ok(Evidence {
            user_is_enabled: self.is_enabled(tenant, user.as_deref()).await?,
            undeployed: self.undeployed(tenant, &sessions).await?,
            consumer: self.consumer_evidence(tenant, (id, since), &receiver).await?,
            traced_since: covering.map(|trace| trace.began).min(),
            id,
            receiver,
            since,
            object,
            records: found.records,
            sessions,
            missing_servers: missing,
        }
        .explain())
    }

    async fn sessions_of_receiver(
        &self,
        tenant: &TenantId,
        user: Option<String>,
        session: Option<String>,
    ) -> Result<(Vec<ClientSession>, Vec<String>)> {
        let filter = SessionFilter { id: session, user, ..SessionFilter::default() };
        let wanted = WantedSessions { filter, after: None, limit: MOST_SESSIONS };
        let listed = self.list_sessions(tenant, wanted).await?;
        Ok((listed.found.sessions, listed.missing))
    }

    async fn is_enabled(&self, tenant: &TenantId, user: Option<&str>) -> Result<Option<bool>> {
        let Some(user) = user else { return Ok(None) };
        match users::get_user(&self.database, tenant, user).await {
            Ok(user) => Ok(Some(user.enabled)),
            Err(Error::NotFound { .. }) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    /// Returns the channels of sessions whose modules are not deployed.
    async fn undeployed(&self, tenant: &TenantId, sessions: &[ClientSession]) -> Result<Vec<String>> {
        let mut channels: Vec<&String> = sessions.iter().flat_map(|session| &session.subscriptions).collect();
        channels.sort();
        channels.dedup();
        let mut undeployed = Vec::new();
        for channel in channels {
            if let Some(Pattern::Module { module, .. }) = Pattern::parse(Endpoint::Realtime, channel)
                && !modules::is_deployed(&self.database, tenant, &module).await?
            {
                undeployed.push(channel.clone());
            }
        }
        Ok(undeployed)
    }

    async fn consumer_evidence(
        &self,
        tenant: &TenantId,
        (id, since): (i64, Timestamp),
        receiver: &AskedReceiver,
    ) -> Result<Option<ConsumerEvidence>> {
        let AskedReceiver::Consumer(name) = receiver else { return Ok(None) };
        let consumer = consumers::get_consumer(&self.database, tenant, name).await?;
        let entries = journal::find_about(&self.database, tenant, since.instant(), id).await?;
        let entries =
            crate::consumers::judge(&self.database, tenant, (&consumer.channels, &consumer.filter), &entries)
                .await?;
        Ok(Some(ConsumerEvidence { consumer, entries }))
    }
}

/// Returns whether a trace records the changes on the channels of an object and what happens to the receiver.
fn covers(trace: &Trace, source: i64, receiver: &AskedReceiver) -> bool {
    match (&trace.subject, receiver) {
        (TraceSubject::Tenant, _) => true,
        (TraceSubject::Device(device), _) => device.0 == source,
        (TraceSubject::User(traced), AskedReceiver::User(user)) => traced == user,
        (TraceSubject::Session(traced), AskedReceiver::Session(session)) => traced == session,
        (TraceSubject::User(_) | TraceSubject::Session(_), _) => false,
    }
}
