//! `Expect: 100-continue`: a request is judged by its head before its client is asked for the body (C-07b, C-21).
//!
//! actix-http sends `100 Continue` before it calls a route. Here the route is called first, with a body that is not
//! there yet. A route that responds without its body has the last word; the client is asked for the body as soon as the
//! route reads it.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use actix_http::body::BoxBody;
use actix_http::error::PayloadError;
use actix_http::{BoxedPayloadStream, ConnectionType, HttpMessage, Payload, Request, Response};
use actix_service::{Service, always_ready};
use bytes::Bytes;
use futures_util::future::{Either, LocalBoxFuture};
use futures_util::{FutureExt, Stream, StreamExt};

/// The routes of a worker, which continue a call that [`Expectation`] began.
pub(super) struct Routes<S>(pub(super) Rc<S>);

/// The routes of a worker, for requests whose clients wait for `100 Continue`.
pub(super) struct Expectation<S>(pub(super) Rc<OnceCell<Rc<S>>>);

/// A call that waits for the body of its request.
struct Begun<R, E>(LocalBoxFuture<'static, Result<R, E>>);

impl<S> Service<Request> for Routes<S>
where
    S: Service<Request> + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, LocalBoxFuture<'static, Result<S::Response, S::Error>>>;

    always_ready!();

    fn call(&self, request: Request) -> Self::Future {
        let begun = request.extensions_mut().remove::<Begun<S::Response, S::Error>>();
        match begun {
            Some(Begun(call)) => Either::Right(call),
            None => Either::Left(self.0.call(request)),
        }
    }
}

impl<S> Service<Request> for Expectation<S>
where
    S: Service<Request> + 'static,
    S::Future: 'static,
    S::Response: Into<Response<BoxBody>>,
    S::Error: Into<Response<BoxBody>>,
{
    /// A request that contains the call that was begun.
    type Response = Request;
    /// The response of a route that needs no body.
    type Error = Response<BoxBody>;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    always_ready!();

    fn call(&self, mut request: Request) -> Self::Future {
        let gate = Rc::new(Gate::default());
        let body = Awaited { gate: gate.clone(), body: request.take_payload() };
        let body: BoxedPayloadStream = Box::pin(body);
        let (request, _) = request.replace_payload(Payload::from(body));
        let routes = self.0.get().expect("routes are made before connections are taken");
        let mut call = routes.call(request).boxed_local();
        Box::pin(async move {
            let responded = poll_fn(|cx| {
                *gate.judge.borrow_mut() = Some(cx.waker().clone());
                match call.as_mut().poll(cx) {
                    Poll::Ready(responded) => Poll::Ready(Some(responded)),
                    Poll::Pending if gate.is_wanted.get() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            match responded.await {
                Some(responded) => Err(last_word(responded)),
                None => {
                    gate.open();
                    let request = Request::new();
                    request.extensions_mut().insert(Begun(call));
                    Ok(request)
                }
            }
        })
    }
}

/// Returns a response to a request whose body is not read. The client may send the body all the same, so that the start
/// of its next request is unknown.
fn last_word<R: Into<Response<BoxBody>>, E: Into<Response<BoxBody>>>(
    responded: Result<R, E>,
) -> Response<BoxBody> {
    let mut response = responded.map_or_else(Into::into, Into::into);
    response.head_mut().set_connection_type(ConnectionType::Close);
    response
}

/// Whether the client was asked for the body of its request.
#[derive(Default)]
struct Gate {
    is_wanted: Cell<bool>,
    is_open: Cell<bool>,
    /// The task that waits for the response or for the wish to read the body.
    judge: RefCell<Option<Waker>>,
    /// The task that waits for the body.
    reader: RefCell<Option<Waker>>,
}

impl Gate {
    fn open(&self) {
        self.is_open.set(true);
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// A body that the client sends when it is asked for it.
struct Awaited {
    gate: Rc<Gate>,
    body: Payload,
}

impl Stream for Awaited {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.gate.is_open.get() {
            return self.body.poll_next_unpin(cx);
        }
        self.gate.is_wanted.set(true);
        *self.gate.reader.borrow_mut() = Some(cx.waker().clone());
        // Another task than that of the connection may read the body.
        if let Some(judge) = self.gate.judge.take() {
            judge.wake();
        }
        Poll::Pending
    }
}
