//! The components of a server. This is the only module that knows all of them: requests ask for each component by its
//! type, so that a module imports only those that it uses.

use std::sync::Arc;

use actix_web::web::{Data, ServiceConfig};
use platform_actors::Platform;
use platform_front::config::Settings;
use platform_front::jobs::JobStates;
use platform_front::secrets::password::SecretKey;
use platform_front::stop::Stop;
use platform_model::error::Error;
use platform_model::id::TenantId;
use platform_model::links::Links;

use crate::api::access_tokens::TokenRequests;
use crate::api::application_binaries::Unpacking;
use crate::api::applications::ApplicationViews;
use crate::api::bulk_registration::FilesUnderWay;
use crate::api::device_credentials::CredentialPolls;
use crate::applications::files::HostedFiles;
use crate::applications::paths::ApplicationPaths;
use crate::auth::access_token::GatewayCheck;
use crate::auth::cors::Cors;
use crate::auth::{Authenticator, RateLimit};
use crate::csv::Csv;
use crate::http::address::AddressSettings;
use crate::http::compatibility::ClientCompatibility;
use crate::http::error::ErrorDetail;
use crate::http::held_bytes::HeldBytes;
use crate::http::hosted::Policies;
use crate::lane;
use crate::realtime::Realtime;
use crate::requests::log::RequestLog;
use crate::service::Services;

/// The components of a server, which its threads share.
#[derive(Clone)]
pub(super) struct Components {
    pub(super) platform: Data<Platform>,
    pub(super) stop: Data<Stop>,
    pub(super) addresses: Data<AddressSettings>,
    pub(super) services: Data<Services>,
    pub(super) authenticator: Data<Authenticator>,
    applications: Data<ApplicationPaths>,
    compatibility: Data<ClientCompatibility>,
    cors: Data<Cors>,
    credential_polls: Data<CredentialPolls>,
    csv: Data<Csv>,
    errors: Data<ErrorDetail>,
    files_under_way: Data<FilesUnderWay>,
    held_bytes: Data<HeldBytes>,
    hosted_files: Data<HostedFiles>,
    pub(super) jobs: Data<JobStates>,
    policies: Data<Policies>,
    requests: Data<RequestLog>,
    realtime: Data<Realtime>,
    secret_key: Data<SecretKey>,
    token_requests: Data<TokenRequests>,
    unpacking: Data<Unpacking>,
    views: Data<ApplicationViews>,
}

impl Components {
    /// Creates the components that requests use beside the actors.
    ///
    /// # Errors
    /// `Invalid` for a default tenant that is not a valid id.
    pub(super) fn assemble(
        settings: &Settings,
        platform: Arc<Platform>,
        secret_key: Arc<SecretKey>,
        addresses: AddressSettings,
    ) -> Result<Self, Error> {
        let (database, limits, stop) =
            (platform.database().clone(), platform.limits(), Arc::<Stop>::default());
        let default_tenant = TenantId::parse(&settings.default_tenant)?;
        let gateway = if settings.gateway_check { GatewayCheck::On } else { GatewayCheck::Off };
        let authenticator = Data::new(Authenticator::new(
            database.clone(),
            secret_key.clone(),
            default_tenant,
            settings.regions.clone(),
            limits,
            gateway,
            stop.clone(),
        ));
        let cors = Data::new(Cors::new(database.clone()));
        let (callers, origins) = (authenticator.clone(), cors.clone());
        platform.forget_by(move |changed| {
            callers.forget(changed);
            origins.forget(changed);
        });
        let (senders, applications) = (authenticator.clone(), Data::new(ApplicationPaths::default()));
        let held_bytes = HeldBytes::new(
            limits,
            platform.database().tenant_limits().clone(),
            Box::new(move |header, host| {
                let caller = senders.remembered(header, host)?;
                Some((caller.tenant.clone(), caller.user.clone()))
            }),
        );
        let compatibility = ClientCompatibility(settings.client_compatibility);
        let realtime =
            Realtime { platform: platform.clone(), authenticator: authenticator.clone(), compatibility };
        let policies = Data::new(Policies::new(&settings.hosted_content_security_policy));
        let services = Data::new(Services::new(
            platform.clone(),
            stop.clone(),
            authenticator.clone(),
            applications.clone(),
            policies.clone(),
        ));
        Ok(Self {
            addresses: Data::new(addresses),
            compatibility: Data::new(compatibility),
            credential_polls: Data::new(CredentialPolls(RateLimit::per_minute(
                "polls for credentials from this address",
                settings.limits.credential_polls,
            ))),
            csv: Data::new(Csv::new(platform.clone(), compatibility)),
            errors: Data::new(if settings.debug_errors { ErrorDetail::Full } else { ErrorDetail::Brief }),
            files_under_way: Data::default(),
            held_bytes: Data::new(held_bytes),
            hosted_files: Data::new(HostedFiles::new(database, settings.hosted_cache_bytes)),
            jobs: Data::default(),
            realtime: Data::new(realtime),
            token_requests: Data::new(TokenRequests(RateLimit::per_minute(
                "requests for a token from this address",
                settings.limits.token_requests,
            ))),
            unpacking: Data::new(Unpacking::default()),
            views: Data::new(ApplicationViews { secret_key: secret_key.clone(), services: services.clone() }),
            secret_key: Data::from(secret_key),
            platform: Data::from(platform),
            stop: Data::from(stop),
            applications,
            authenticator,
            cors,
            policies,
            requests: Data::new(RequestLog::new(settings.request_log)),
            services,
        })
    }

    /// Registers the components for the handlers of an app.
    pub(super) fn register(&self, app: &mut ServiceConfig) {
        app.app_data(self.platform.clone())
            .app_data(self.stop.clone())
            .app_data(self.addresses.clone())
            .app_data(self.services.clone())
            .app_data(self.authenticator.clone())
            .app_data(self.applications.clone())
            .app_data(self.compatibility.clone())
            .app_data(self.cors.clone())
            .app_data(self.credential_polls.clone())
            .app_data(self.csv.clone())
            .app_data(self.errors.clone())
            .app_data(self.files_under_way.clone())
            .app_data(self.held_bytes.clone())
            .app_data(self.hosted_files.clone())
            .app_data(self.jobs.clone())
            .app_data(self.policies.clone())
            .app_data(self.requests.clone())
            .app_data(self.realtime.clone())
            .app_data(self.secret_key.clone())
            .app_data(self.token_requests.clone())
            .app_data(self.unpacking.clone())
            .app_data(self.views.clone());
    }

    /// Returns the components that requests of the fast lane use.
    pub(super) fn of_lane(&self) -> lane::Components {
        lane::Components {
            platform: self.platform.clone(),
            stop: self.stop.clone(),
            authenticator: self.authenticator.clone(),
            addresses: self.addresses.clone(),
            cors: self.cors.clone(),
            csv: self.csv.clone(),
            errors: self.errors.clone(),
            held_bytes: self.held_bytes.clone(),
            realtime: self.realtime.clone(),
            requests: self.requests.clone(),
        }
    }

    pub(super) fn platform(&self) -> Arc<Platform> {
        self.platform.clone().into_inner()
    }

    /// Returns the links of changes that no request causes.
    pub(super) fn links(&self) -> Links {
        Links::new(self.addresses.fallback_base.clone())
    }
}
