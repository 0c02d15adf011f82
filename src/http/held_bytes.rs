//! What this server keeps in memory for clients that may take their time: large answers until they are read, and bodies until they
//! are whole. Each user, and each tenant, may have so many bytes of it; who has them is told so, and nobody else pays for it.
//!
//! What is small is not counted: it costs less than its connection.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use bytes::Bytes;
use parking_lot::Mutex;
use platform_actors::limits::Limits;
use platform_actors::model::id::TenantId;

use super::edge;
use super::error::{ApiError, Result};
use super::head::Head;
use crate::auth::Caller;

/// What has fewer bytes is not counted.
pub(crate) const LARGE: usize = 64 << 10;
/// A large answer is given to its connection in parts of this size, each when the one before was taken.
const PART: usize = 32 << 10;
/// Seconds after which some of it may have been read, or its reader is gone.
const RETRY_AFTER: u64 = 10;

/// The bytes that are held, by user and by tenant. Shared by all threads.
#[derive(Debug)]
pub struct HeldBytes {
    held: Mutex<Held>,
    per_user: usize,
    per_tenant: usize,
    /// Users and tenants that have all they may have. Nobody has, nearly always; then requests pay for one look at this.
    full: AtomicUsize,
}

#[derive(Debug, Default)]
struct Held {
    users: HashMap<(TenantId, Arc<str>), usize>,
    tenants: HashMap<TenantId, usize>,
}

/// Whose bytes there are too many of.
enum Full {
    User,
    Tenant,
}

impl HeldBytes {
    /// Within these limits.
    pub fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            held: Mutex::default(),
            per_user: limits.held_bytes_per_user,
            per_tenant: limits.held_bytes_per_tenant,
            full: AtomicUsize::new(0),
        })
    }

    /// Refuses a request of somebody who has all the bytes that are allowed. What is refused was not begun.
    ///
    /// # Errors
    /// `TooManyRequests`.
    pub fn check(&self, head: &impl Head) -> Result<()> {
        if self.full.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let Some(caller) = Caller::remembered(head) else { return Ok(()) };
        let held = self.held.lock();
        let of_user = held.users.get(&(caller.tenant.clone(), caller.user.clone()));
        if of_user.is_some_and(|bytes| *bytes >= self.per_user) {
            return Err(Full::User.into());
        }
        match held.tenants.get(&caller.tenant).is_some_and(|bytes| *bytes >= self.per_tenant) {
            true => Err(Full::Tenant.into()),
            false => Ok(()),
        }
    }

    /// Counts more bytes of a user; with `bounded` only as long as there may be more.
    fn add(&self, (tenant, user): &(TenantId, Arc<str>), bytes: usize, bounded: bool) -> Result<(), Full> {
        let mut held = self.held.lock();
        let held = &mut *held;
        let of_user = held.users.entry((tenant.clone(), user.clone())).or_default();
        let of_tenant = held.tenants.entry(tenant.clone()).or_default();
        let full = match (*of_user + bytes > self.per_user, *of_tenant + bytes > self.per_tenant) {
            (true, _) if *of_user > 0 => Some(Full::User),
            (_, true) if *of_tenant > 0 => Some(Full::Tenant),
            // Alone everything may be held that is allowed at all.
            _ => None,
        };
        match full.filter(|_| bounded) {
            Some(full) => Err(full),
            None => {
                self.change(of_user, *of_user + bytes, self.per_user);
                self.change(of_tenant, *of_tenant + bytes, self.per_tenant);
                Ok(())
            }
        }
    }

    fn give_back(&self, of: &(TenantId, Arc<str>), bytes: usize) {
        let mut held = self.held.lock();
        if let Some(of_user) = held.users.get_mut(of) {
            self.change(of_user, of_user.saturating_sub(bytes), self.per_user);
            if *of_user == 0 {
                held.users.remove(of);
            }
        }
        if let Some(of_tenant) = held.tenants.get_mut(&of.0) {
            self.change(of_tenant, of_tenant.saturating_sub(bytes), self.per_tenant);
            if *of_tenant == 0 {
                held.tenants.remove(&of.0);
            }
        }
    }

    fn change(&self, held: &mut usize, now: usize, most: usize) {
        let before = std::mem::replace(held, now);
        match (before >= most, now >= most) {
            (false, true) => drop(self.full.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.full.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
    }
}

impl From<Full> for ApiError {
    fn from(full: Full) -> Self {
        let of = match full {
            Full::User => {
                "bytes of answers not read and of requests not whole, of this user (--held-bytes-per-user)"
            }
            Full::Tenant => {
                "bytes of answers not read and of requests not whole, of this tenant (--held-bytes-per-tenant)"
            }
        };
        Self::TooManyRequests { of, retry_after: RETRY_AFTER }
    }
}

/// What is held of one answer or of one body.
#[derive(Debug)]
pub(crate) struct Share {
    held: Arc<HeldBytes>,
    of: (TenantId, Arc<str>),
    bytes: usize,
}

impl Share {
    /// Of who sent this, if that is somebody who is known.
    fn of(head: &impl Head) -> Option<Self> {
        let caller = Caller::remembered(head)?;
        let of = (caller.tenant.clone(), caller.user.clone());
        Some(Self { held: head.edge().held_bytes.clone(), of, bytes: 0 })
    }

    fn add(&mut self, bytes: usize, bounded: bool) -> Result<()> {
        self.held.add(&self.of, bytes, bounded)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Has a body of so many bytes counted, once it is large.
    ///
    /// # Errors
    /// `TooManyRequests` when there are too many bytes of its user, or of the tenant.
    pub(crate) fn cover(share: &mut Option<Self>, head: &impl Head, bytes: usize) -> Result<()> {
        if bytes < LARGE {
            return Ok(());
        }
        if share.is_none() {
            *share = Self::of(head);
        }
        match share {
            Some(share) if bytes > share.bytes => share.add(bytes - share.bytes, true),
            _ => Ok(()),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.give_back(&self.of, self.bytes);
    }
}

/// Has a large answer counted until its client has read it. One that there is no room for is refused, where it only tells something:
/// what was changed is told.
pub fn count(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let size = match response.response().body().size() {
        BodySize::Sized(size) if size >= LARGE as u64 => size,
        _ => return response,
    };
    let request = response.request().clone();
    let mut refusal = None;
    let response = response.map_body(|_, body| {
        // What comes in parts is in memory a part at a time.
        let bytes = match body.try_into_bytes() {
            Ok(bytes) => bytes,
            Err(body) => return body,
        };
        let mut share = Share::of(&request);
        let bounded = matches!(*request.method(), Method::GET | Method::HEAD);
        if let Some(share) = &mut share {
            refusal = share.add(bytes.len(), bounded).err();
        }
        BoxBody::new(Parts { size, left: bytes, _share: share })
    });
    match refusal {
        Some(error) => response.into_response(error.answer(&request)),
        None => response,
    }
}

/// Whether a request may be begun; see [`HeldBytes::check`].
///
/// # Errors
/// `TooManyRequests`.
pub fn check(request: &ServiceRequest) -> Result<()> {
    edge(request.request()).held_bytes.check(request.request())
}

/// A large answer on its way.
struct Parts {
    size: u64,
    left: Bytes,
    _share: Option<Share>,
}

impl MessageBody for Parts {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.size)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let part = self.left.len().min(PART);
        Poll::Ready((part > 0).then(|| Ok(self.left.split_to(part))))
    }
}
