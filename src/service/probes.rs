//! Asks microservices how they are, by the probes of their manifests (W-03), at the address the operator set.
//!
//! Each server process asks for itself, for it is its own way to the service that matters. Nothing of it is stored.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use actix_web::web;
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use platform_actors::model::application::Application;
use platform_actors::model::id::ApplicationId;
use platform_actors::model::manifest::{Manifest, Probe};
use platform_actors::model::service_address::ServiceAddress;
use platform_actors::store::application_routes::list_routed;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::client;
use super::health::{Course, together};
use super::upload::Running;
use crate::server::Edge;

/// How often it is looked whether applications changed: a look at a number.
const LOOK: Duration = Duration::from_millis(200);
/// Questions that are open at once, over all microservices.
const AT_ONCE: usize = 64;
/// Longest wait for an answer, whatever a manifest says: a question takes the place of another one.
const PATIENCE: Duration = Duration::from_secs(60);

type Connections = Client<HttpConnector, Empty<Bytes>>;

/// Asks for as long as the server runs.
pub(crate) async fn keep_asking(edge: web::Data<Edge>) {
    let inquirer = Inquirer {
        connections: client::connections(),
        places: Rc::new(Semaphore::new(AT_ONCE)),
        edge: edge.clone(),
    };
    let mut asked: HashMap<ApplicationId, Asked> = HashMap::new();
    let mut seen = None;
    loop {
        let database = edge.platform.database();
        let generation = database.applications_generation();
        if seen != Some(generation) {
            // While the database is away what was known goes on.
            if let Ok(routed) = list_routed(database).await {
                inquirer.follow(&mut asked, &routed);
                seen = Some(generation);
            }
        }
        sleep(LOOK).await;
    }
}

/// A microservice that is asked, until this is dropped.
struct Asked {
    route: String,
    probes: Vec<(&'static str, Probe)>,
    _running: Vec<Running>,
}

/// Who asks.
#[derive(Clone)]
struct Inquirer {
    connections: Connections,
    places: Rc<Semaphore>,
    edge: web::Data<Edge>,
}

impl Inquirer {
    /// Begins with what came or changed, and ends with what went.
    fn follow(&self, asked: &mut HashMap<ApplicationId, Asked>, routed: &[Application]) {
        let mut gone: Vec<ApplicationId> = asked.keys().copied().collect();
        for application in routed {
            let Some(route) = &application.route else { continue };
            let probes = probes_of(application);
            let Ok(address) = ServiceAddress::parse(route) else { continue };
            if probes.is_empty() {
                continue;
            }
            gone.retain(|id| *id != application.id);
            let known = asked.get(&application.id);
            if known.is_some_and(|known| known.route == *route && known.probes == probes) {
                continue;
            }
            // What was found at another address says nothing of this one.
            asked.remove(&application.id);
            self.edge.services.health.forget(application.id);
            let running = self.begin(application.id, &address, &probes);
            asked.insert(application.id, Asked { route: route.clone(), probes, _running: running });
        }
        for id in gone {
            asked.remove(&id);
            self.edge.services.health.forget(id);
        }
    }

    fn begin(
        &self,
        id: ApplicationId,
        address: &ServiceAddress,
        probes: &[(&'static str, Probe)],
    ) -> Vec<Running> {
        let courses = probes.iter().map(|(name, _)| (*name, Course::default())).collect();
        let courses: Rc<RefCell<Vec<(&'static str, Course)>>> = Rc::new(RefCell::new(courses));
        self.conclude(id, &courses.borrow());
        let ask = |(place, (_, probe)): (usize, &(&'static str, Probe))| {
            let (inquirer, courses, probe) = (self.clone(), courses.clone(), probe.clone());
            let address = address.clone();
            Running::start(async move {
                sleep(probe.initial_delay).await;
                loop {
                    let answer = inquirer.ask(&address, &probe).await;
                    courses.borrow_mut()[place].1.count(&probe, answer);
                    inquirer.conclude(id, &courses.borrow());
                    sleep(probe.period).await;
                }
            })
        };
        probes.iter().enumerate().map(ask).collect()
    }

    fn conclude(&self, id: ApplicationId, courses: &[(&'static str, Course)]) {
        let (status, message) = together(courses.iter().map(|(name, course)| (*name, course)));
        let cause = message.clone().unwrap_or_default();
        if self.edge.services.health.learn(id, status, message) {
            tracing::info!(application.id = %id, ?status, cause, "a microservice is another way");
        }
    }

    /// One question. What went wrong is told to everyone who sees the application, so it names no address.
    async fn ask(&self, address: &ServiceAddress, probe: &Probe) -> Result<(), String> {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        let uri = format!("{address}{}", probe.path)
            .parse()
            .map_err(|_| "its path cannot be asked for".to_owned())?;
        let patience = probe.timeout.min(PATIENCE);
        match timeout(patience, self.connections.get(uri)).await {
            Err(_) => Err(format!("no answer within {} seconds", patience.as_secs())),
            Ok(Err(error)) if error.is_connect() => Err("it cannot be reached".into()),
            Ok(Err(_)) => Err("the connection ended before an answer".into()),
            Ok(Ok(answer)) if (200..400).contains(&answer.status().as_u16()) => Ok(()),
            Ok(Ok(answer)) => Err(format!("it answered {}", answer.status().as_u16())),
        }
    }
}

fn probes_of(application: &Application) -> Vec<(&'static str, Probe)> {
    // A manifest that was stored before its rules became stricter has no probes.
    let Ok(Some(manifest)) = Manifest::of(application) else { return Vec::new() };
    let probes = [("readiness probe", manifest.readiness_probe), ("liveness probe", manifest.liveness_probe)];
    probes.into_iter().filter_map(|(name, probe)| Some((name, probe?))).collect()
}
