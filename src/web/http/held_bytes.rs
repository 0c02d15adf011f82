//! Limits the memory that slow clients occupy: large responses until they are read, and request bodies until they are
//! complete. Each user and each tenant may occupy a limited number of bytes; requests beyond the limit are rejected,
//! and no other user is affected.
//!
//! Small responses and bodies are not counted, because they cost less than their connection.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::web;
use bytes::Bytes;
use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_model::tenancy::tenant::TenantLimit;
use platform_store::tenancy::tenant_limits::AllTenantLimits;

use super::authority;
use super::error::{ApiError, Result};
use super::head::Head;
use super::presented::Presented;

/// Responses and bodies with fewer bytes are not counted.
pub(crate) const LARGE: usize = 64 << 10;
/// The size of the parts of a large response. A part is passed to the connection when the previous one was accepted.
const PART: usize = 32 << 10;
/// The number of seconds after which a retry makes sense: some bytes may have been read by then, or their reader is
/// gone.
const RETRY_AFTER: u64 = 10;

/// The user to whom bytes are charged.
pub type Owner = (TenantId, Arc<str>);

/// Returns the user behind credentials that were sent to a host, if they were verified before.
pub type FindOwner = Box<dyn Fn(&Presented<'_>, &str) -> Option<Owner> + Send + Sync>;

/// The numbers of bytes in memory, by user and by tenant, shared by all threads.
pub struct HeldBytes {
    find_owner: FindOwner,
    held: Mutex<Held>,
    per_user: usize,
    limits_of_tenants: Arc<AllTenantLimits>,
    /// The number of users and tenants that have reached their limit. It is nearly always 0, and requests then cost
    /// only this check.
    full: AtomicUsize,
}

#[derive(Debug, Default)]
struct Held {
    users: HashMap<Owner, Occupied>,
    tenants: HashMap<TenantId, Occupied>,
}

/// The bytes of a user or a tenant.
#[derive(Debug, Default)]
struct Occupied {
    bytes: usize,
    /// Whether they reach the limit that was in force when they changed last.
    is_full: bool,
}

/// The limit that is reached.
enum Full {
    User,
    Tenant,
}

impl HeldBytes {
    /// Creates counters with these limits.
    pub fn new(limits: &Limits, limits_of_tenants: Arc<AllTenantLimits>, find_owner: FindOwner) -> Self {
        Self {
            find_owner,
            held: Mutex::default(),
            per_user: limits.held_bytes_per_user,
            limits_of_tenants,
            full: AtomicUsize::new(0),
        }
    }

    fn owner_of(&self, head: &impl Head) -> Option<Owner> {
        (self.find_owner)(&Presented::of(head)?, authority(head).unwrap_or_default())
    }

    /// Rejects a request of a user or tenant that has reached its limit. A rejected request has had no effect.
    ///
    /// # Errors
    /// `TooManyRequests`.
    pub fn check(&self, head: &impl Head) -> Result<()> {
        if self.full.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let Some(owner) = self.owner_of(head) else { return Ok(()) };
        let held = self.held.lock();
        let of_user = held.users.get(&owner);
        if of_user.is_some_and(|held| held.bytes >= self.per_user) {
            return Err(Full::User.into());
        }
        let most = self.most_of(&owner.0);
        if held.tenants.get(&owner.0).is_some_and(|held| held.bytes >= most) {
            Err(Full::Tenant.into())
        } else {
            Ok(())
        }
    }

    /// Returns how many bytes a tenant may occupy (Z-20).
    fn most_of(&self, tenant: &TenantId) -> usize {
        let most = self.limits_of_tenants.of(tenant).value(TenantLimit::UnreadBytes);
        most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// Adds bytes of a user. With `bounded`, fails when a limit would be exceeded.
    fn add(&self, of: &Owner, bytes: usize, bounded: bool) -> Result<(), Full> {
        let most = self.most_of(&of.0);
        let mut held = self.held.lock();
        let held = &mut *held;
        let of_user = held.users.entry(of.clone()).or_default();
        let of_tenant = held.tenants.entry(of.0.clone()).or_default();
        let full = match (of_user.bytes + bytes > self.per_user, of_tenant.bytes + bytes > most) {
            (true, _) if of_user.bytes > 0 => Some(Full::User),
            (_, true) if of_tenant.bytes > 0 => Some(Full::Tenant),
            // A single response or body may use the whole limit.
            _ => None,
        };
        match full.filter(|_| bounded) {
            Some(full) => {
                // The entry of a user without bytes is removed. The tenant has bytes, or it would not be full.
                if of_user.bytes == 0 {
                    held.users.remove(of);
                }
                Err(full)
            }
            None => {
                self.change(of_user, of_user.bytes + bytes, self.per_user);
                self.change(of_tenant, of_tenant.bytes + bytes, most);
                Ok(())
            }
        }
    }

    fn give_back(&self, of: &Owner, bytes: usize) {
        let most = self.most_of(&of.0);
        let held = &mut *self.held.lock();
        self.subtract(&mut held.users, of, bytes, self.per_user);
        self.subtract(&mut held.tenants, &of.0, bytes, most);
    }

    /// Subtracts bytes from an entry and removes the entry when nothing is left.
    fn subtract<K: Eq + Hash>(&self, held: &mut HashMap<K, Occupied>, of: &K, bytes: usize, most: usize) {
        let Some(left) = held.get_mut(of) else { return };
        // The limit is at least 1, so that an entry without bytes, which is removed, is never counted as full.
        self.change(left, left.bytes.saturating_sub(bytes), most.max(1));
        if left.bytes == 0 {
            held.remove(of);
        }
    }

    fn change(&self, held: &mut Occupied, bytes: usize, most: usize) {
        let was_full = held.is_full;
        *held = Occupied { bytes, is_full: bytes >= most };
        match (was_full, held.is_full) {
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
                "bytes of unread responses and incomplete requests of this user (--held-bytes-per-user)"
            }
            Full::Tenant => {
                "bytes of unread responses and incomplete requests of this tenant (limit unreadBytes)"
            }
        };
        Self::TooManyRequests { of, retry_after: RETRY_AFTER }
    }
}

/// The counted bytes of one response or one body.
pub(crate) struct Share {
    held: web::Data<HeldBytes>,
    of: Owner,
    bytes: usize,
}

impl Share {
    /// Creates a share for the sender of a request, if the sender is a known user.
    fn of(head: &impl Head) -> Option<Self> {
        let held = head.state::<HeldBytes>();
        Some(Self { of: held.owner_of(head)?, held: held.clone(), bytes: 0 })
    }

    fn add(&mut self, bytes: usize, bounded: bool) -> Result<()> {
        self.held.add(&self.of, bytes, bounded)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts a body of this length, once it is large.
    ///
    /// # Errors
    /// `TooManyRequests` when the user or the tenant would exceed its limit.
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

/// Counts a large response until its client has read it. A response that would exceed the limit is replaced by an
/// error, but only if the request changed nothing: the result of a change is always returned.
pub fn count(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let size = match response.response().body().size() {
        BodySize::Sized(size) if size >= LARGE as u64 => size,
        _ => return response,
    };
    let request = response.request().clone();
    let mut refusal = None;
    let response = response.map_body(|_, body| {
        // Only one part of a streamed response is in memory at a time.
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

/// Checks whether a request may start; see [`HeldBytes::check`].
///
/// # Errors
/// `TooManyRequests`.
pub fn check(request: &ServiceRequest) -> Result<()> {
    request.request().state::<HeldBytes>().check(request.request())
}

/// A large response that is being sent.
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
