//! The components of the server that requests of the fast lane use.

use actix_web::web::Data;
use platform_actors::Platform;
use platform_front::stop::Stop;

use super::request::Request;
use crate::auth::Authenticator;
use crate::auth::cors::Cors;
use crate::csv::Csv;
use crate::http::address::AddressSettings;
use crate::http::error::ErrorDetail;
use crate::http::head::Has;
use crate::http::held_bytes::HeldBytes;
use crate::realtime::Realtime;
use crate::requests::log::RequestLog;

/// Declares the components, and implements [`Has`] for the requests of the lane.
macro_rules! components {
    ($($name:ident: $component:ty,)*) => {
        /// The components of the server that requests of the fast lane use. Each worker has its own references to them.
        #[derive(Clone)]
        pub(crate) struct Components {
            $(pub(crate) $name: Data<$component>,)*
        }

        $(impl Has<$component> for Request {
            fn component(&self) -> &Data<$component> {
                &self.lane.components.$name
            }
        })*
    };
}

components! {
    platform: Platform,
    stop: Stop,
    authenticator: Authenticator,
    addresses: AddressSettings,
    cors: Cors,
    csv: Csv,
    errors: ErrorDetail,
    held_bytes: HeldBytes,
    realtime: Realtime,
    requests: RequestLog,
}
