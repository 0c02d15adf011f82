//! The components of the server that requests of the fast lane use.

use std::any::{Any, type_name};

use actix_web::web::Data;
use platform_actors::Platform;
use platform_front::stop::Stop;

use crate::auth::Authenticator;
use crate::auth::cors::Cors;
use crate::csv::Csv;
use crate::http::address::AddressSettings;
use crate::http::error::ErrorDetail;
use crate::http::held_bytes::HeldBytes;
use crate::realtime::Realtime;
use crate::requests::log::RequestLog;

/// The components of the server that requests of the fast lane use. Each worker has its own references to them.
#[derive(Clone)]
pub(crate) struct Components {
    pub(crate) platform: Data<Platform>,
    pub(crate) stop: Data<Stop>,
    pub(crate) authenticator: Data<Authenticator>,
    pub(crate) addresses: Data<AddressSettings>,
    pub(crate) cors: Data<Cors>,
    pub(crate) csv: Data<Csv>,
    pub(crate) errors: Data<ErrorDetail>,
    pub(crate) held_bytes: Data<HeldBytes>,
    pub(crate) realtime: Data<Realtime>,
    pub(crate) requests: Data<RequestLog>,
}

impl Components {
    /// Returns the component of this type. The types are compared when the program is compiled, so nothing is searched
    /// here.
    #[inline]
    pub(super) fn get<T: 'static>(&self) -> &Data<T> {
        fn one<T: 'static>(component: &dyn Any) -> Option<&Data<T>> {
            component.downcast_ref()
        }
        one(&self.realtime)
            .or_else(|| one(&self.authenticator))
            .or_else(|| one(&self.platform))
            .or_else(|| one(&self.requests))
            .or_else(|| one(&self.addresses))
            .or_else(|| one(&self.cors))
            .or_else(|| one(&self.csv))
            .or_else(|| one(&self.errors))
            .or_else(|| one(&self.held_bytes))
            .unwrap_or_else(|| unreachable!("the fast lane has no {}", type_name::<T>()))
    }
}
