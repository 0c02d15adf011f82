//! The table of the background jobs of a server. A function defines a job: its name, its period, whether it holds a
//! lease, and what one run does.
#![deny(dead_code, reason = "a job that is missing in `all` would never run")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use platform_actors::Platform;
use platform_actors::background::silence::SilenceWatch;
use platform_actors::background::{abandoned_uploads, certificate_expiry, retention, usage};
use platform_actors::platform::{NotedSessions, OfferedSessions};
use platform_front::config::AllowedHost;
use platform_front::jobs::Job;
use platform_front::telemetry;
use platform_front::tls::Tls;
use platform_model::error::Error;
use platform_model::links::Links;
use platform_store::Database;
use platform_store::consumers::{self, lapse};
use platform_store::data::binaries;
use platform_store::data::measurements::partitions::make_partitions;
use platform_store::devices::credentials;
use platform_store::idempotency_keys;
use platform_store::realtime::journal::partitions;
use platform_store::realtime::session_moves;
use platform_store::statistics::until_next;
use platform_store::users::access_tokens;

use super::components::Components;
use crate::outbound_requests::OutboundRequests;
use crate::service::probes::ServiceProbes;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// The time after a start for which jobs that only tidy up or measure wait, because all clients reconnect then.
const AFTER_START: Duration = Duration::from_secs(5);

/// The parts of the server that the jobs use.
pub(super) struct Jobs<'a> {
    pub(super) components: &'a Components,
    pub(super) tls: Option<&'a Arc<Tls>>,
    pub(super) module_request_hosts: &'a [AllowedHost],
}

impl Jobs<'_> {
    /// Returns all jobs that end when the server has stopped serving.
    pub(super) fn all(&self) -> Vec<Job> {
        let always = [
            self.log_upkeep(),
            self.password_guesses(),
            self.checkpoints(),
            self.incomplete_files(),
            self.device_credentials(),
            self.certificate_expiry(),
            self.access_tokens(),
            self.idempotency_keys(),
            self.measurement_partitions(),
            self.journal_partitions(),
            self.consumers(),
            self.consumer_figures(),
            self.bulk_alarm_updates(),
            self.bulk_operations(),
            self.modules(),
            self.draining(),
            self.moved_sessions(),
            self.unused_tenants(),
            self.tenant_limits(),
            self.abandoned_uploads(),
            self.retention(),
            self.usage(),
            self.statistics(),
            self.silence(),
            self.traces(),
            self.service_probes(),
        ];
        let configured = [self.certificate(), self.user_sessions(), self.module_requests()];
        always.into_iter().chain(configured.into_iter().flatten()).collect()
    }

    fn platform(&self) -> Arc<Platform> {
        self.components.platform()
    }

    fn database(&self) -> Database {
        self.components.platform.database().clone()
    }

    fn links(&self) -> Links {
        self.components.links()
    }

    /// Aggregates histograms, and renews the quotas of log lines.
    fn log_upkeep(&self) -> Job {
        let run = async || {
            telemetry::keep_up();
            Ok(())
        };
        Job::every(SECOND, "log-upkeep", run).first_after_pause()
    }

    /// Loads a new certificate.
    fn certificate(&self) -> Option<Job> {
        let tls = self.tls?.clone();
        tls.show_expiry();
        let run = async move || {
            tls.check_files().await;
            Ok(())
        };
        Some(Job::every(self.tls?.check(), "certificate", run).first_after_pause())
    }

    /// Tells the other servers about wrong passwords at this one. They count them like their own, so that guessing at
    /// several servers in turn gains nothing.
    fn password_guesses(&self) -> Job {
        let authenticator = self.components.authenticator.clone();
        let pause = Duration::from_millis(200);
        Job::on_events(pause, "password-guesses", async move || authenticator.spread_guesses().await)
    }

    /// Applies running traces after a start, deletes those that have ended, and their records when these are old.
    fn traces(&self) -> Job {
        let platform = self.platform();
        let run = async move || platform.keep_traces().await;
        Job::every(MINUTE, "traces", run)
    }

    /// Runs checkpoints while the disk has little room. The log that PostgreSQL writes for deletions in one
    /// period must still fit on the disk.
    fn checkpoints(&self) -> Job {
        let database = self.database();
        let run = async move || platform_store::keep_log_short(&database).await;
        Job::every(5 * SECOND, "checkpoints", run).first_after_pause()
    }

    /// Deletes the bytes of files whose upload to the inventory was abandoned.
    fn incomplete_files(&self) -> Job {
        let database = self.database();
        Job::every(HOUR, "incomplete-files", async move || binaries::sweep(&database).await)
            .first_after(AFTER_START)
    }

    /// Deletes credentials that their device did not collect in time.
    fn device_credentials(&self) -> Job {
        let (database, kept) = (self.database(), self.platform().limits().device_credentials);
        let run = async move || credentials::sweep(&database).await;
        Job::every(kept.min(MINUTE), "device-credentials", run).first_after(AFTER_START)
    }

    /// Raises alarms about certificates that are about to end, and deletes those that ended long ago.
    fn certificate_expiry(&self) -> Job {
        let (platform, links) = (self.platform(), self.links());
        let period = platform.limits().certificate_check;
        let run = async move || certificate_expiry::look(&platform, &links).await;
        Job::every(period, "certificate-expiry", run).first_after(AFTER_START.min(period))
    }

    /// Deletes expired tokens.
    fn access_tokens(&self) -> Job {
        let database = self.database();
        let run = async move || access_tokens::sweep(&database).await;
        Job::every(10 * MINUTE, "access-tokens", run).first_after(AFTER_START)
    }

    /// Deletes the keys of requests whose repetitions are no longer recognized.
    fn idempotency_keys(&self) -> Job {
        let database = self.database();
        let run = async move || idempotency_keys::sweep(&database).await;
        Job::every(10 * MINUTE, "idempotency-keys", run).first_after(AFTER_START)
    }

    /// Creates the partitions of the next months. The start has created those that are needed now.
    fn measurement_partitions(&self) -> Job {
        let database = self.database();
        let run = async move || make_partitions(&database).await;
        Job::every(HOUR, "measurement-partitions", run).first_after(AFTER_START)
    }

    /// Creates the partitions of journals of the next hours, and drops those that no consumer needs.
    fn journal_partitions(&self) -> Job {
        let database = self.database();
        let run = async move || {
            partitions::make_partitions(&database).await?;
            partitions::drop_unneeded(&database).await
        };
        Job::every(5 * MINUTE, "journal-partitions", run)
    }

    /// Lets consumers lapse whose backlog exceeds a bound, and notes which are no longer read here.
    fn consumers(&self) -> Job {
        let (platform, links) = (self.platform(), self.links());
        let run = async move || platform.keep_consumers(&links).await;
        Job::every(Duration::from_millis(500), "consumers", run).first_after_pause()
    }

    /// Measures the backlogs of consumers, ends journals without any, and raises alarms about lapses that have none.
    fn consumer_figures(&self) -> Job {
        let (database, platform, links) = (self.database(), self.platform(), self.links());
        let run = async move || {
            consumers::end_unused_journals(&database).await?;
            platform.raise_outstanding_alarms(&links).await?;
            lapse::measure(&database).await
        };
        Job::every(15 * SECOND, "consumer-figures", run).first_after(AFTER_START)
    }

    /// Continues bulk updates of alarms whose server has died. The lease outlives two failed renewals.
    fn bulk_alarm_updates(&self) -> Job {
        let (platform, period) = (self.platform(), self.platform().limits().bulk_lease / 3);
        let run = async move || platform.keep_bulk_updates_going().await;
        Job::every(period, "bulk-alarm-updates", run).by_lease()
    }

    /// Starts bulk operations that are due, and continues those whose server has died.
    fn bulk_operations(&self) -> Job {
        let (platform, period) = (self.platform(), self.platform().limits().bulk_lease / 3);
        let run = async move || platform.keep_bulk_operations_going().await;
        Job::every(period, "bulk-operations", run).by_lease()
    }

    /// Runs event-processing modules that no other server runs. A lost connection must be restored before another
    /// server takes over, so an error is followed by another run at once.
    fn modules(&self) -> Job {
        let (platform, modules) = (self.platform(), self.platform());
        let period = platform.limits().module_lease / 3;
        let changes = move || {
            let modules = modules.clone();
            async move { modules.modules_to_check().await }
        };
        Job::every(period, "modules", async move || platform.keep_modules_going().await)
            .woken_by(changes)
            .retried_after(Duration::from_millis(300))
            .by_lease()
    }

    /// Hands sessions to other servers while the operator lets this one drain. The period leaves a pause between two
    /// groups of sessions, so that not all clients come to the other servers at once.
    fn draining(&self) -> Job {
        let (platform, mut offered) = (self.platform(), OfferedSessions::default());
        let run = async move || platform.hand_over_while_draining(&mut offered).await;
        Job::every(Duration::from_millis(250), "draining", run).first_after_pause()
    }

    /// Tells the other servers about the sessions of each user, if there is a limit of sessions per user.
    fn user_sessions(&self) -> Option<Job> {
        let (platform, mut noted) = (self.platform(), NotedSessions::default());
        platform.limits().sessions_per_user?;
        let run = async move || platform.note_user_sessions(&mut noted).await;
        Some(Job::every(SECOND, "user-sessions", run).first_after_pause())
    }

    /// Exchanges what tenants use of their limits with the other servers.
    fn tenant_limits(&self) -> Job {
        let platform = self.platform();
        Job::every(SECOND, "tenant-limits", async move || platform.keep_tenant_limits().await)
    }

    /// Deletes the records of sessions of servers that are gone.
    fn moved_sessions(&self) -> Job {
        let database = self.database();
        let run = async move || session_moves::sweep(&database).await;
        Job::every(HOUR, "moved-sessions", run).first_after(AFTER_START)
    }

    /// Leaves tenants that nobody has used at this server for a while.
    fn unused_tenants(&self) -> Job {
        let database = self.database();
        let period = database.publications().unused_check();
        Job::every(period, "unused-tenants", async move || database.leave_unused_tenants().await)
            .first_after(AFTER_START)
    }

    /// Sends the requests of event-processing modules.
    fn module_requests(&self) -> Option<Job> {
        let requests = self.platform().take_outbound_requests()?;
        let mut requests = OutboundRequests::new(requests, self.module_request_hosts.to_vec());
        let run = async move || {
            requests.send_until_idle().await;
            Ok(())
        };
        Some(Job::on_events(Duration::ZERO, "module-requests", run))
    }

    /// Removes the files of events whose upload was abandoned.
    fn abandoned_uploads(&self) -> Job {
        let (platform, links) = (self.platform(), self.links());
        let run = async move || abandoned_uploads::remove(&platform, &links).await;
        Job::every(HOUR, "abandoned-uploads", run).first_after(AFTER_START)
    }

    /// Deletes data that is too old, of each tenant once a day.
    fn retention(&self) -> Job {
        let (platform, links) = (self.platform(), self.links());
        let period = platform.limits().retention_check;
        let run = async move || retention::run_when_due(&platform, &links).await;
        Job::every(period, "retention", run).by_lease().first_after_pause()
    }

    /// Measures the devices and bytes of each tenant when that is due.
    fn usage(&self) -> Job {
        let platform = self.platform();
        let period = platform.limits().usage_pause.min(30 * SECOND);
        let run = async move || usage::measure(&platform).await;
        Job::every(period, "usage", run).by_lease().first_after(AFTER_START)
    }

    /// Writes what is counted. Counts belong to the day in which they are collected, so no pause ends after midnight.
    fn statistics(&self) -> Job {
        let platform = self.platform();
        let (period, mut last) = (platform.limits().statistics_pause, Instant::now());
        let run = async move || {
            let elapsed = std::mem::replace(&mut last, Instant::now()).elapsed();
            platform.write_statistics(elapsed).await
        };
        Job::every(period, "statistics", run).first_after_pause().paused_for(move || until_next(period))
    }

    /// Raises an alarm for each device that has become silent.
    fn silence(&self) -> Job {
        let (platform, links, mut watch) = (self.platform(), self.links(), SilenceWatch::default());
        let period = platform.limits().silence_sweep;
        let run = async move || platform.look_for_silence(&mut watch, &links).await;
        Job::every(period, "silence", run).retried_after(SECOND).by_lease()
    }

    /// Starts and stops the probes of microservices, when their addresses or manifests have changed.
    fn service_probes(&self) -> Job {
        let mut probes = ServiceProbes::new(self.components.services.clone());
        Job::every(Duration::from_millis(200), "service-probes", async move || probes.follow().await)
    }
}

/// Receives the changes of other servers, and watches whether PostgreSQL is reachable. This job begins before all
/// others and ends after them.
pub(super) fn database_watch(platform: Arc<Platform>) -> Job {
    let run = async move || {
        platform.clone().watch().await;
        Err(Error::unavailable("the watch of the database has ended"))
    };
    Job::on_events(Duration::ZERO, "database-watch", run)
}
