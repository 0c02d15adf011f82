//! Components of the server as arguments of handlers.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::ops::Deref;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};

use super::head::{Has, Registered};

/// A component of the server that a handler takes as an argument. A handler that takes one that is not registered does
/// not compile, whereas `web::Data` would respond with 500 to its first request.
pub struct Component<T>(web::Data<T>);

impl<T> Component<T> {
    /// Returns the shared component.
    pub fn into_inner(self) -> Arc<T> {
        self.0.into_inner()
    }
}

impl<T> Clone for Component<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for Component<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Registered> FromRequest for Component<T> {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let component: &web::Data<T> = request.component();
        ready(Ok(Self(component.clone())))
    }
}
