//! Subscriptions that begin with a list (docs/rules.md#real-time-notifications; B-36): the list, a marker, and then
//! every change that the list does not show.

use std::sync::Arc;

use actix::Addr;
use actix_web::ResponseError;
use platform_actors::session::{
    AbandonSnapshot, BeginSnapshot, FinishSnapshot, SessionActor, SnapshotFailure,
};
use platform_model::error::Error;
use platform_model::links::Links;
use platform_model::realtime::bayeux::{Pattern, RequestMessage, SnapshotRequest, error};
use platform_model::realtime::filter::NotificationFilter;
use platform_store::shares::{Charged, of_charged};
use serde_json::value::RawValue;

use super::lists::ListQuery;
use super::moved::Known;
use super::{Exchange, Replies};
use crate::auth::Caller;
use crate::http::error::{ApiError, Result};

/// The outcome of a subscription: `Err` is the reason for which it is denied, as a Bayeux error.
type Subscribed = std::result::Result<Known, String>;

/// A list that is being read for a session. The session gives it up when this is dropped, unless it has the list.
struct Reading {
    session: Addr<SessionActor>,
    number: u64,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.session.do_send(AbandonSnapshot { number: self.number });
    }
}

impl Exchange<'_> {
    /// Subscribes to a channel whose list the session receives first. The caller may receive the channel. A filter is
    /// that of the changes; the list has its query.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(super) async fn subscribe_with_list(
        &self,
        message: &RequestMessage<'_>,
        extension: &RawValue,
        (caller, (patterns, filter)): (&Caller, (&[Pattern], Option<Arc<NotificationFilter>>)),
        session: &Addr<SessionActor>,
        replies: &mut Replies,
    ) -> Result<Known> {
        let channel = "/meta/subscribe";
        let subscribed = match SnapshotRequest::parse(extension, patterns) {
            Ok(request) => self.receive_list(&request, filter, caller, session).await,
            Err(fault) => Ok(Err(fault)),
        };
        match subscribed.or_else(denial)? {
            Ok(Known::Yes) if self.may_still_receive(caller, session).await => {
                replies.accept(message, channel)
            }
            Ok(_) => return Ok(Known::No),
            Err(fault) => replies.refuse(message, Some(channel), &fault, None),
        }
        Ok(Known::Yes)
    }

    /// Reads the list while the session holds back the changes, and passes it to the session.
    ///
    /// # Errors
    /// The errors of a GET of the list; `Unavailable` or `Database`.
    async fn receive_list(
        &self,
        request: &SnapshotRequest,
        filter: Option<Arc<NotificationFilter>>,
        caller: &Caller,
        session: &Addr<SessionActor>,
    ) -> Result<Subscribed> {
        let Some(links) = &self.links else {
            return Ok(Err("400::rows of CSV cannot receive a list".to_owned()));
        };
        let (platform, tenant) = (&self.realtime.platform, &caller.tenant);
        let list = ListQuery::of(caller, platform, request).await?;
        // From here on, this server receives the tenant's notifications from other servers, and those of its own
        // transactions say which transaction it was.
        let _subscription = platform.database().subscribe(tenant).await?;
        let _stamping = platform.database().begin_stamping(tenant).await?;
        let begin = BeginSnapshot { user: caller.user.clone(), pattern: request.pattern.clone(), filter };
        let reading = match session.send(begin).await {
            Ok(Ok(number)) => Reading { session: session.clone(), number },
            Ok(Err(failure)) => return Ok(self.failed(failure)),
            Err(_) => return Ok(Ok(Known::No)),
        };
        let charged = Charged { tenant: tenant.clone(), user: caller.user.clone() };
        let finish = of_charged(charged, self.read(&list, request, caller, links, reading.number)).await?;
        match session.send(finish).await {
            Ok(Ok(())) => Ok(Ok(Known::Yes)),
            Ok(Err(failure)) => Ok(self.failed(failure)),
            Err(_) => Ok(Ok(Known::No)),
        }
    }

    /// Reads the list in one transaction.
    async fn read(
        &self,
        list: &ListQuery,
        request: &SnapshotRequest,
        caller: &Caller,
        links: &Links,
        number: u64,
    ) -> Result<FinishSnapshot> {
        let (database, moment) = self.realtime.platform.database().at_one_moment().await?;
        let content = list.read(caller, &database, links).await?;
        let shown = moment.end().await?;
        let messages = request.messages(&content.objects, content.is_complete);
        Ok(FinishSnapshot { number, messages, shown })
    }

    fn failed(&self, failure: SnapshotFailure) -> Subscribed {
        let limits = self.realtime.platform.limits();
        Err(match failure {
            SnapshotFailure::UnknownClient => return Ok(Known::No),
            SnapshotFailure::TooMany => error::SUBSCRIBE_DENIED.to_owned(),
            SnapshotFailure::OfConsumer => {
                "400::a session that reads a consumer receives no list; read the list by GET".to_owned()
            }
            SnapshotFailure::IsRead => {
                "409::the session is waiting for another list of this channel; subscribe again after it"
                    .to_owned()
            }
            SnapshotFailure::Unsubscribed => {
                "409::the client has unsubscribed while the list was read".to_owned()
            }
            SnapshotFailure::TooManyChanges => format!(
                "503::more than {} changes or {} bytes of them came while the list was read; subscribe again, or to \
                 the channel of one object",
                limits.queued_notifications, limits.queued_bytes
            ),
            SnapshotFailure::TooLarge { bytes, allowed } => format!(
                "413::the list of {bytes} bytes does not fit into the queue of the session, which takes {allowed} \
                 bytes with what waits in it (session-queue-bytes); request a smaller pageSize"
            ),
        })
    }
}

/// Returns the Bayeux error for a list that cannot be read as it was requested.
///
/// # Errors
/// The error itself, if the same request may succeed later.
fn denial(error: ApiError) -> Result<Subscribed> {
    match error {
        ApiError::Platform(
            Error::Unavailable(_)
            | Error::Moving(_)
            | Error::Contended
            | Error::Database(_)
            | Error::DiskFull,
        ) => Err(error),
        error => Ok(Err(format!("{}::{error}", error.status_code().as_u16()))),
    }
}
