//! The state of microservices.

use std::sync::Arc;

use actix_web::web;
use platform_actors::Platform;
use platform_front::stop::Stop;

use super::calls::Calls;
use super::health::Healths;
use crate::applications::paths::ApplicationPaths;
use crate::auth::Authenticator;
use crate::http::hosted::Policies;

/// The state of microservices in this server process, and the components that requests to them use.
pub struct Services {
    pub(super) platform: Arc<Platform>,
    pub(super) authenticator: web::Data<Authenticator>,
    pub(super) applications: web::Data<ApplicationPaths>,
    pub(super) policies: web::Data<Policies>,
    pub(super) stop: Arc<Stop>,
    /// The health of each microservice with probes.
    pub health: Healths,
    pub(super) calls: Calls,
}

impl Services {
    /// Creates the state of microservices, of which no health is known yet.
    pub fn new(
        platform: Arc<Platform>,
        stop: Arc<Stop>,
        authenticator: web::Data<Authenticator>,
        applications: web::Data<ApplicationPaths>,
        policies: web::Data<Policies>,
    ) -> Self {
        let (health, calls) = (Healths::default(), Calls::default());
        Self { platform, authenticator, applications, policies, stop, health, calls }
    }
}
