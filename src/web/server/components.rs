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

use crate::api::application_binaries::Unpacking;
use crate::api::applications::ApplicationViews;
use crate::api::bulk_registration::FilesUnderWay;
use crate::api::device_credentials::CredentialPolls;
use crate::applications::files::HostedFiles;
use crate::applications::paths::ApplicationPaths;
use crate::auth::access_token::TokenRequests;
use crate::auth::cors::Cors;
use crate::auth::{Authenticator, RateLimit};
use crate::csv::Csv;
use crate::http::address::AddressSettings;
use crate::http::compatibility::ClientCompatibility;
use crate::http::error::ErrorDetail;
use crate::http::head::Registered;
use crate::http::held_bytes::HeldBytes;
use crate::http::hosted::Policies;
use crate::lane;
use crate::realtime::Realtime;
use crate::requests::log::RequestLog;
use crate::service::Services;

/// Declares the components of a server, and registers all of them for the handlers of its apps.
macro_rules! components {
    ($($visibility:vis $name:ident: $component:ty,)*) => {
        /// The components of a server, which its threads share.
        #[derive(Clone)]
        pub(super) struct Components {
            $($visibility $name: Data<$component>,)*
        }

        impl Components {
            /// Registers the components for the handlers of an app.
            pub(super) fn register(&self, app: &mut ServiceConfig) {
                $(app.app_data(self.$name.clone());)*
            }
        }

        $(impl Registered for $component {})*
    };
}

components! {
    pub(super) platform: Platform,
    pub(super) stop: Stop,
    pub(super) addresses: AddressSettings,
    pub(super) services: Services,
    pub(super) authenticator: Authenticator,
    applications: ApplicationPaths,
    compatibility: ClientCompatibility,
    cors: Cors,
    credential_polls: CredentialPolls,
    csv: Csv,
    errors: ErrorDetail,
    files_under_way: FilesUnderWay,
    held_bytes: HeldBytes,
    hosted_files: HostedFiles,
    pub(super) jobs: JobStates,
    policies: Policies,
    requests: RequestLog,
    realtime: Realtime,
    secret_key: SecretKey,
    token_requests: TokenRequests,
    unpacking: Unpacking,
    views: ApplicationViews,
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
        let authenticator = Data::new(Authenticator::new(
            database.clone(),
            secret_key.clone(),
            default_tenant,
            settings,
            limits,
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
            Box::new(move |presented, host| {
                let caller = senders.remembered(presented, host)?;
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
