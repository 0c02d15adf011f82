//! Requests to other servers: those that event-processing modules send (`SendRequest`, Q-07), and those for the
//! documents of identity providers (C-25).
//!
//! The operator configures the allowed hosts. A request contains no credentials but those that the module itself
//! specifies. Reading order: [`message`] what is sent and whether it may be sent, [`exchange`] the exchange over the
//! network.

mod exchange;
mod message;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use platform_actors::event_processing::{OutboundRequest, OutboundResponse};
use platform_model::id::TenantId;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use message::Message;
use platform_front::config::AllowedHost;
use platform_front::tls::Roots;

/// The most concurrent requests of all tenants.
const CONCURRENT: usize = 64;
/// The most concurrent requests of one tenant.
const CONCURRENT_PER_TENANT: usize = 8;
/// The most waiting requests of one tenant; further requests are not sent.
const WAITING_PER_TENANT: usize = 256;
/// The timeout of a request, from the host's name look-up to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of a request for a document.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The requests of modules, on their way to other servers.
pub(crate) struct OutboundRequests {
    requests: mpsc::Receiver<OutboundRequest>,
    sender: Sender,
    under_way: JoinSet<()>,
}

impl OutboundRequests {
    /// Prepares the sending of requests to the allowed hosts.
    pub(crate) fn new(requests: mpsc::Receiver<OutboundRequest>, allowed: Vec<AllowedHost>) -> Self {
        let sender = Sender::new(allowed, Roots::of_machine());
        Self { requests, sender, under_way: JoinSet::new() }
    }

    /// Waits for a request, and sends it and those that follow, until none is on its way. When the future is dropped,
    /// requests on their way continue.
    pub(crate) async fn send_until_idle(&mut self) {
        loop {
            tokio::select! {
                Some(request) = self.requests.recv() => {
                    self.under_way.spawn(self.sender.send(request));
                }
                Some(_) = self.under_way.join_next() => {}
                else => return,
            }
            if self.under_way.is_empty() {
                return;
            }
        }
    }
}

/// Reads a document of another server, which is JSON of at most one mebibyte.
///
/// # Errors
/// The reason why there is none.
pub(crate) async fn read_json<T: DeserializeOwned>(
    url: &str,
    allowed: &[AllowedHost],
    roots: &Roots,
) -> Result<T, String> {
    document(url, Message::get(url, allowed)?, roots).await
}

/// Sends a form to another server, and returns its response, which is JSON of at most one mebibyte.
///
/// # Errors
/// The reason why there is none.
pub(crate) async fn post_form<T: DeserializeOwned>(
    url: &str,
    form: String,
    authorization: Option<String>,
    allowed: &[AllowedHost],
    roots: &Roots,
) -> Result<T, String> {
    document(url, Message::post_form(url, form, authorization, allowed)?, roots).await
}

async fn document<T: DeserializeOwned>(url: &str, message: Message, roots: &Roots) -> Result<T, String> {
    let exchanged = timeout(DOCUMENT_TIMEOUT, Box::pin(exchange::exchange(message, roots))).await;
    let late = || format!("{url}: no response within {} seconds", DOCUMENT_TIMEOUT.as_secs());
    let response = exchanged.map_err(|_| late())??;
    if response.status != 200 {
        return Err(format!("{url}: the response has the status {}", response.status));
    }
    serde_json::from_str(&response.body).map_err(|error| format!("{url}: {error}"))
}

/// The state that all requests share.
struct Sender {
    allowed: Arc<[AllowedHost]>,
    roots: Arc<Roots>,
    turns: Arc<Semaphore>,
    tenants: HashMap<TenantId, Weak<Turns>>,
}

/// The limits of one tenant; removed when it has no request.
struct Turns {
    under_way: Semaphore,
    waiting: Arc<Semaphore>,
}

impl Sender {
    fn new(allowed: Vec<AllowedHost>, roots: Roots) -> Self {
        Self {
            allowed: allowed.into(),
            roots: Arc::new(roots),
            turns: Arc::new(Semaphore::new(CONCURRENT)),
            tenants: HashMap::new(),
        }
    }

    /// Sends a request and passes the response to the module.
    fn send(&mut self, request: OutboundRequest) -> impl Future<Output = ()> + Send + use<> {
        let (of_tenant, turns) = (self.turns_of(&request.tenant), self.turns.clone());
        let (allowed, roots) = (self.allowed.clone(), self.roots.clone());
        async move {
            let (message, answer) = (Message::of(&request, &allowed), request.answer);
            let outcome = match message {
                Ok(message) => in_turn(&of_tenant, &turns, message, &roots).await,
                Err(why) => Err(why),
            };
            let response = outcome.unwrap_or_else(|why| OutboundResponse { status: 0, body: why });
            // Nobody waits when the module was undeployed meanwhile.
            let _ = answer.send(response);
        }
    }

    fn turns_of(&mut self, tenant: &TenantId) -> Arc<Turns> {
        if let Some(turns) = self.tenants.get(tenant).and_then(Weak::upgrade) {
            return turns;
        }
        self.tenants.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Turns {
            under_way: Semaphore::new(CONCURRENT_PER_TENANT),
            waiting: Arc::new(Semaphore::new(WAITING_PER_TENANT)),
        });
        self.tenants.insert(tenant.clone(), Arc::downgrade(&turns));
        turns
    }
}

/// Sends a request when its tenant and the server have capacity. A tenant with many requests delays only its own.
async fn in_turn(
    tenant: &Turns,
    all: &Semaphore,
    message: Message,
    roots: &Roots,
) -> Result<OutboundResponse, String> {
    let waiting = tenant.waiting.try_acquire();
    let waiting = waiting.map_err(|_| format!("not sent: {WAITING_PER_TENANT} requests wait already"))?;
    let closed = |_| "not sent: the server is stopping".to_owned();
    let _of_tenant = tenant.under_way.acquire().await.map_err(closed)?;
    let _of_all = all.acquire().await.map_err(closed)?;
    drop(waiting);
    let exchanged = timeout(TIMEOUT, Box::pin(exchange::exchange(message, roots))).await;
    exchanged.unwrap_or_else(|_| Err(format!("no response within {} seconds", TIMEOUT.as_secs())))
}
