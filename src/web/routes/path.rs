//! A path with its methods: handlers, the header `Allow`, and the rejection of all other methods.

use std::rc::Rc;

use actix_web::guard::{GuardContext, fn_guard};
use actix_web::http::Method;
use actix_web::{FromRequest, HttpRequest, HttpResponse, Resource, web};
use platform_actors::Platform;
use platform_model::error::Error;

use crate::auth::{AnyCaller, Caller, cors};
use crate::http::error::{ApiError, Result, Shape};
use crate::requests::RouteDurations;
use crate::service;

/// Creates a path whose callers authenticate.
pub(super) fn at(path: &str) -> Path {
    let resource = web::resource(path).app_data(RouteDurations::new(path));
    Path {
        pattern: path.to_owned(),
        methods: Vec::new(),
        resource,
        shape: None,
        reserved: false,
        without_room: false,
    }
}

/// Creates a path like [`at`], for an interface that needs no credentials and has its own error format (T-03, L-04).
pub(super) fn open(path: &str, shape: Shape) -> Path {
    Path { shape: Some(shape), ..at(path) }
}

/// A path with the handlers of its methods.
pub(super) struct Path {
    pub(super) pattern: String,
    /// The methods in the `Allow` header.
    methods: Vec<Method>,
    resource: Resource,
    /// The format of errors, for a path that needs no credentials.
    shape: Option<Shape>,
    /// Whether rows of the CSV protocol may not call the path.
    pub(super) reserved: bool,
    /// Whether POST and PUT handlers added from here on are called even when the disk is full.
    without_room: bool,
}

/// Returns whether the disk has space to store data.
fn has_room(request: &GuardContext<'_>) -> bool {
    request.app_data::<web::Data<Platform>>().is_none_or(|platform| platform.database().has_room())
}

macro_rules! method {
    ($name:ident, $method:ident, $stores:expr) => {
        pub(super) fn $name<F, Args>(self, handler: F) -> Self
        where
            F: actix_web::Handler<Args>,
            Args: actix_web::FromRequest + 'static,
            F::Output: actix_web::Responder + 'static,
        {
            let route = web::$name().to(handler);
            let route = if $stores && !self.without_room { route.guard(fn_guard(has_room)) } else { route };
            let path = self.with(Method::$method);
            Self { resource: path.resource.route(route), ..path }
        }
    };
}

impl Path {
    /// Adds a method to the `Allow` header.
    fn with(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    /// Returns the methods of the path in the format of the `Allow` header.
    pub(super) fn allow(&self) -> String {
        let known = service::METHODS.iter().filter(|method| self.methods.contains(method));
        known.map(Method::as_str).collect::<Vec<_>>().join(",")
    }

    /// Returns the resource to register. It rejects every method without a handler (C-17), and reports its methods to
    /// browsers (C-16).
    pub(super) fn into_resource(self) -> Resource {
        let refused = Rc::new(Refused { allow: self.allow(), methods: self.methods, shape: self.shape });
        let refuse = move |request: HttpRequest| {
            let refused = refused.clone();
            async move { refused.respond(&request).await }
        };
        self.resource.default_service(web::to(refuse))
    }

    /// Adds the handler of GET, which also handles HEAD. A response to HEAD has no body (RFC 9110, 9.3.2).
    pub(super) fn get<F, Args>(self, handler: F) -> Self
    where
        F: actix_web::Handler<Args>,
        Args: actix_web::FromRequest + 'static,
        F::Output: actix_web::Responder + 'static,
    {
        let path = self.with(Method::GET);
        let resource = path.resource.route(web::get().to(handler.clone())).route(web::head().to(handler));
        Self { resource, ..path }
    }

    /// Names HEAD in the `Allow` header, too, for browsers, load balancers and uptime monitors.
    pub(super) fn announcing_head(self) -> Self {
        self.with(Method::HEAD)
    }

    method!(post, POST, true);
    method!(put, PUT, true);
    method!(delete, DELETE, false);

    /// Calls the handlers added from here on even when the disk is full. They either store nothing, such as a login, or
    /// the writers below them decide, because they know what a request in TRANSIENT mode does not store.
    pub(super) fn without_room_too(self) -> Self {
        Self { without_room: true, ..self }
    }

    /// Forwards all its methods to a microservice.
    pub(super) fn forwarded_to_service(self) -> Self {
        service::METHODS.iter().cloned().fold(self, |path, method| {
            let route = web::method(method.clone()).to(service::call);
            let path = path.with(method);
            Self { resource: path.resource.route(route), ..path }
        })
    }

    pub(super) fn reserved(self) -> Self {
        Self { reserved: true, ..self }
    }
}

/// The response to requests that no handler of a path takes.
struct Refused {
    allow: String,
    methods: Vec<Method>,
    shape: Option<Shape>,
}

impl Refused {
    async fn respond(&self, request: &HttpRequest) -> Result<HttpResponse> {
        if let Some(answer) = cors::preflight(request, &self.allow) {
            return Ok(answer);
        }
        let not_allowed = ApiError::MethodNotAllowed { allow: self.allow.clone() };
        if let Some(shape) = self.shape {
            return Err(not_allowed.shaped(shape));
        }
        if self.methods.contains(request.method()) {
            // The disk is full. Even the bootstrap user of devices learns this, whose clients retry after a 503.
            AnyCaller::extract(request).await?;
            return Err(Error::DiskFull.into());
        }
        Caller::extract(request).await?;
        Err(not_allowed)
    }
}
