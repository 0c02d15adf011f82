//! The traces of tenants (B-37): which of them run, and what all servers recorded.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::session_move::ServerMessage;
use platform_model::realtime::trace::Trace;
use platform_model::realtime::trace::record::{RecordFilter, TraceEvent, TraceRecord};
use platform_store::traces;

use super::Platform;
use super::questions::{Questions, Responses};
use crate::session::ClientId;
use crate::session_moves::Transfers;
use crate::traces::TraceRecorder;

/// The records of traces that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundRecords {
    /// The records, oldest first.
    pub records: Vec<TraceRecord>,
    /// The names of the servers that did not respond.
    pub missing: Vec<String>,
}

/// A request of a user that got an error.
#[derive(Debug, Clone, Copy)]
pub struct FailedRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The path without its query.
    pub path: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// The message of the error.
    pub error: &'a str,
}

/// A Bayeux message of a user that was rejected.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The clientId of the message.
    pub client: Option<ClientId>,
    /// The channel of the message.
    pub channel: String,
    /// The channels that the message names.
    pub subscription: Vec<String>,
    /// The Bayeux error, and the reason in words.
    pub error: String,
}

/// The traces of all tenants.
#[derive(Debug, Default)]
pub(super) struct Traces {
    /// The running traces, for tenants that start later.
    running: RwLock<HashMap<TenantId, Vec<Trace>>>,
    /// The open requests to other servers for their records.
    questions: Questions<Vec<TraceRecord>>,
}

impl Traces {
    /// Creates the recorder of a tenant that starts.
    pub(super) fn recorder(&self, tenant: &TenantId, transfers: &Arc<Transfers>) -> Arc<TraceRecorder> {
        let transfers = transfers.clone();
        let recorder = TraceRecorder::new(move |client| transfers.ids().shown(ClientId::from_bits(client)));
        recorder.set(self.running.read().get(tenant).cloned().unwrap_or_default());
        Arc::new(recorder)
    }

    fn set(&self, tenant: &TenantId, traces: Vec<Trace>) {
        let mut running = self.running.write();
        match traces.is_empty() {
            true => running.remove(tenant),
            false => running.insert(tenant.clone(), traces),
        };
    }
}

impl Platform {
    /// Applies the running traces of a tenant, or of all tenants.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; the earlier ones still apply then.
    pub(super) async fn load_traces(&self, tenant: Option<&TenantId>) -> Result<()> {
        let mut running: HashMap<TenantId, Vec<Trace>> = HashMap::new();
        for (tenant, trace) in traces::list_running(&self.database, tenant).await? {
            running.entry(tenant).or_default().push(trace);
        }
        let concerned: Vec<TenantId> = match tenant {
            Some(tenant) => vec![tenant.clone()],
            None => {
                let known = self.known_tenants().into_iter().map(|(tenant, _)| tenant);
                running.keys().cloned().chain(known).collect()
            }
        };
        for tenant in concerned {
            let traces = running.get(&tenant).cloned().unwrap_or_default();
            // A tenant that starts at this moment takes its traces while this lock is held, or is found below.
            self.traces.set(&tenant, traces.clone());
            if let Some(here) = self.tenants.read().get(&tenant) {
                here.context().recorder.set(traces);
            }
        }
        Ok(())
    }

    /// Deletes the traces that have ended, and the records that are too old.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_traces(&self) -> Result<()> {
        traces::delete_ended(&self.database).await?;
        self.load_traces(None).await
    }

    /// Records that a request of a user got an error, if a trace concerns the user.
    pub fn trace_request(&self, tenant: &TenantId, user: &Arc<str>, request: FailedRequest<'_>) {
        self.record(tenant, (None, user), || TraceEvent::Request {
            method: request.method.to_owned(),
            path: request.path.chars().take(200).collect(),
            status: request.status,
            error: request.error.chars().take(300).collect(),
        });
    }

    /// Records that a Bayeux message of a user was rejected, if a trace concerns the user.
    pub fn trace_refusal(&self, tenant: &TenantId, user: &Arc<str>, refusal: Refusal) {
        let Refusal { client, channel, subscription, error } = refusal;
        self.record(tenant, (client, user), || TraceEvent::Refused { channel, subscription, error });
    }

    fn record(
        &self,
        tenant: &TenantId,
        (client, user): (Option<ClientId>, &Arc<str>),
        event: impl FnOnce() -> TraceEvent,
    ) {
        if self.traces.running.read().contains_key(tenant) {
            let recorder = self.tenant(tenant).context().recorder.clone();
            recorder.record_receiver(client.map(ClientId::bits), user, event());
        }
    }

    /// Returns what all servers recorded about a tenant. Bound by `filter.limit`, the oldest records come first.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn list_records(&self, tenant: &TenantId, filter: &RecordFilter) -> Result<FoundRecords> {
        let message = |request, by| {
            let (tenant, filter) = (tenant.to_string(), filter.clone());
            ServerMessage::ShowRecords { request, by, tenant, filter }
        };
        let here = async { self.records_here(tenant, filter) };
        let Responses { responses, missing } =
            self.ask_servers(&self.traces.questions, message, here).await?;
        let mut records: Vec<TraceRecord> = responses.into_iter().flatten().collect();
        records.sort_by(|one, other| {
            (one.at, &one.server, one.number).cmp(&(other.at, &other.server, other.number))
        });
        records.truncate(filter.limit);
        Ok(FoundRecords { records, missing })
    }

    fn records_here(&self, tenant: &TenantId, filter: &RecordFilter) -> Vec<TraceRecord> {
        let here = self.tenants.read().get(tenant).cloned();
        let server = self.database.membership().name().unwrap_or_default().to_owned();
        here.map(|here| here.context().recorder.list(&server, filter)).unwrap_or_default()
    }

    /// Passes the records of another server on to the request for them.
    pub(super) fn receive_records(&self, request: u64, from: i64, records: Vec<TraceRecord>) {
        self.traces.questions.receive(request, from, records);
    }

    /// Responds to another server that requests the records of this one.
    pub(super) fn show_records(&self, (to, request): (i64, u64), tenant: &str, filter: &RecordFilter) {
        let tenant = TenantId::parse(tenant);
        let records = tenant.map(|tenant| self.records_here(&tenant, filter)).unwrap_or_default();
        let from = self.database.session_moves().server();
        self.database.session_moves().tell(to, ServerMessage::RecordsShown { request, from, records });
    }
}
