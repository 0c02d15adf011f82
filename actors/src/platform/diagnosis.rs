//! The diagnosis of an operation that is PENDING, with the subscriptions of its agents at all servers.

use futures_util::future::try_join_all;
use platform_model::data::operation::Operation;
use platform_model::data::operation_diagnosis::Findings;
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::Pattern;
use platform_model::realtime::client_session::SessionFilter;
use platform_store::devices::operation_diagnosis::find_out;

use super::{Platform, WantedSessions};

impl Platform {
    /// Finds out why an operation is PENDING. The result is the same at every server.
    ///
    /// # Errors
    /// `NotFound` when its device does not exist; `Timeout`, `Unavailable` or `Database`.
    pub async fn diagnose(&self, tenant: &TenantId, operation: Operation) -> Result<Findings> {
        let mut findings = find_out(&self.database, tenant, operation).await?;
        let here = self.tenant(tenant);
        let hub = &here.context().hub;
        // A session is at one server, which an agent reaches by chance behind a load balancer.
        let elsewhere = try_join_all(findings.agents.iter_mut().filter_map(|agent| {
            let pattern = Pattern::Agent(agent.id);
            agent.subscribed = hub.has_listeners(&pattern);
            (!agent.subscribed).then_some(async move {
                let filter = SessionFilter { channel: Some(pattern.to_string()), ..SessionFilter::default() };
                let wanted = WantedSessions { filter, after: None, limit: 1 };
                let told = self.list_sessions(tenant, wanted).await?;
                agent.subscribed = told.found.count > 0;
                Ok::<_, Error>(if agent.subscribed { Vec::new() } else { told.missing })
            })
        }))
        .await?;
        findings.missing_servers = elsewhere.into_iter().flatten().collect();
        findings.missing_servers.sort();
        findings.missing_servers.dedup();
        Ok(findings)
    }
}
