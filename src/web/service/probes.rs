//! Probes the health of microservices as their manifests specify (W-03), at the address that the operator set.
//!
//! Every server process probes for itself, because its own connection to the service matters. The results are not
//! stored.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use actix_web::web;
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use platform_model::applications::application::Application;
use platform_model::applications::manifest::{Manifest, Probe};
use platform_model::applications::service_address::ServiceAddress;
use platform_model::error::Result;
use platform_model::id::ApplicationId;
use platform_store::applications::routes::list_routed;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::client;
use super::health::{ProbeHistory, combine};
use super::services::Services;
use super::upload::Running;

/// The most concurrent probe requests, over all microservices.
const CONCURRENT_PROBES: usize = 64;
/// The longest timeout of a probe request, whatever the manifest says, because a waiting request delays others.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

type Connections = Client<HttpConnector, Empty<Bytes>>;

/// The microservices that are probed.
pub(crate) struct ServiceProbes {
    prober: Prober,
    probed: HashMap<ApplicationId, Probed>,
    /// The generation of applications that `probed` follows.
    seen: Option<u64>,
}

impl ServiceProbes {
    /// Creates the state; nothing is probed yet.
    pub(crate) fn new(services: web::Data<Services>) -> Self {
        let prober = Prober {
            connections: client::connections(),
            places: Rc::new(Semaphore::new(CONCURRENT_PROBES)),
            services,
        };
        Self { prober, probed: HashMap::new(), seen: None }
    }

    /// Starts the probes of new and changed microservices, and stops those of removed ones, if applications changed. To
    /// find out is the comparison of a number.
    ///
    /// # Errors
    /// `Unavailable` or `Database`; the known probes continue.
    pub(crate) async fn follow(&mut self) -> Result<()> {
        let services = self.prober.services.clone();
        let database = services.platform.database();
        let generation = database.applications_generation();
        if self.seen != Some(generation) {
            self.prober.follow(&mut self.probed, &list_routed(database).await?);
            self.seen = Some(generation);
        }
        Ok(())
    }
}

/// A microservice that is probed until this is dropped.
struct Probed {
    route: String,
    probes: Vec<(&'static str, Probe)>,
    _running: Vec<Running>,
}

/// The state that all probes share.
#[derive(Clone)]
struct Prober {
    connections: Connections,
    places: Rc<Semaphore>,
    services: web::Data<Services>,
}

impl Prober {
    /// Starts the probes of new and changed microservices, and stops those of removed ones.
    fn follow(&self, probed: &mut HashMap<ApplicationId, Probed>, routed: &[Application]) {
        let mut gone: Vec<ApplicationId> = probed.keys().copied().collect();
        for application in routed {
            let Some(route) = &application.route else { continue };
            let probes = probes_of(application);
            let Ok(address) = ServiceAddress::parse(route) else { continue };
            if probes.is_empty() {
                continue;
            }
            gone.retain(|id| *id != application.id);
            let known = probed.get(&application.id);
            if known.is_some_and(|known| known.route == *route && known.probes == probes) {
                continue;
            }
            // Results from another address do not apply to this one.
            probed.remove(&application.id);
            self.services.health.remove(application.id);
            let running = self.start_probes(application.id, &address, &probes);
            probed.insert(application.id, Probed { route: route.clone(), probes, _running: running });
        }
        for id in gone {
            probed.remove(&id);
            self.services.health.remove(id);
        }
    }

    fn start_probes(
        &self,
        id: ApplicationId,
        address: &ServiceAddress,
        probes: &[(&'static str, Probe)],
    ) -> Vec<Running> {
        let histories = probes.iter().map(|(name, _)| (*name, ProbeHistory::default())).collect();
        let histories: Rc<RefCell<Vec<(&'static str, ProbeHistory)>>> = Rc::new(RefCell::new(histories));
        self.update_health(id, &histories.borrow());
        let start_probe = |(place, (_, probe)): (usize, &(&'static str, Probe))| {
            let (prober, histories, probe) = (self.clone(), histories.clone(), probe.clone());
            let address = address.clone();
            Running::start(async move {
                sleep(probe.initial_delay).await;
                loop {
                    let answer = prober.probe(&address, &probe).await;
                    histories.borrow_mut()[place].1.count(&probe, answer);
                    prober.update_health(id, &histories.borrow());
                    sleep(probe.period).await;
                }
            })
        };
        probes.iter().enumerate().map(start_probe).collect()
    }

    fn update_health(&self, id: ApplicationId, histories: &[(&'static str, ProbeHistory)]) {
        let (status, message) = combine(histories.iter().map(|(name, history)| (*name, history)));
        let cause = message.clone();
        if self.services.health.set(id, status, message) {
            tracing::info!(application.id = %id, ?status, cause, "the health of a microservice changed");
        }
    }

    /// Sends one probe request. Everyone who may read the application sees the error, so it names no address.
    async fn probe(&self, address: &ServiceAddress, probe: &Probe) -> std::result::Result<(), String> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        let uri = format!("{address}{}", probe.path)
            .parse()
            .map_err(|_| "its path is not part of a valid URL".to_owned())?;
        let limit = probe.timeout.min(LONGEST_TIMEOUT);
        match timeout(limit, self.connections.get(uri)).await {
            Err(_) => Err(format!("no response within {} seconds", limit.as_secs())),
            Ok(Err(error)) if error.is_connect() => Err("it cannot be reached".into()),
            Ok(Err(_)) => Err("the connection ended before a response".into()),
            Ok(Ok(answer)) if (200..400).contains(&answer.status().as_u16()) => Ok(()),
            Ok(Ok(answer)) => Err(format!("it responded with {}", answer.status().as_u16())),
        }
    }
}

fn probes_of(application: &Application) -> Vec<(&'static str, Probe)> {
    // A manifest that was stored before its rules became stricter has no probes.
    let Ok(Some(manifest)) = Manifest::of(application) else { return Vec::new() };
    let probes = [("readiness probe", manifest.readiness_probe), ("liveness probe", manifest.liveness_probe)];
    probes.into_iter().filter_map(|(name, probe)| Some((name, probe?))).collect()
}
