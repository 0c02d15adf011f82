//! `/tenant/sessions`: the Bayeux sessions of a tenant's clients at all servers (B-25).

use actix_web::{HttpResponse, web};
use platform_actors::{FoundSessions, Platform, WantedSessions};
use platform_model::error::{Error, Noun};
use platform_model::id::ManagedObjectId;
use platform_model::page::{After, Page};
use platform_model::realtime::client_session::{ClientSession, SessionFilter};
use platform_model::role;
use platform_store::users::session_ends;

use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The most sessions that are skipped to reach a page by its number.
const MOST_SKIPPED: i64 = 10_000;

/// `GET /tenant/sessions`: returns a page of the sessions of the tenant, by id, with the servers that did not respond.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::USER_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "clientSessionCollection")?;
    let (request, filter) = (&listing.request, filter(&listing.query)?);
    let (size, skipped) = (request.size as usize, request.offset());
    if skipped > MOST_SKIPPED {
        let allowed = "the first 10 000 sessions; follow the links 'next' to reach others";
        return Err(Error::invalid_value("currentPage", request.current, allowed).into());
    }
    let skipped = skipped as usize;
    let after = request.after_name().map(ToOwned::to_owned);
    let wanted = WantedSessions { filter, after, limit: skipped + size + 1 };
    let FoundSessions { found, missing } = platform.list_sessions(&caller.tenant, wanted).await?;
    let mut members: Vec<ClientSession> = found.sessions.into_iter().skip(skipped).collect();
    let more = members.len() > size;
    members.truncate(size);
    let next = members.last().filter(|_| more).map(|last| After::Name(last.id.as_str().into()));
    let page = Page { members, next, count: request.count_of(found.count as i64) };
    listing.respond_with("sessions", &page, Some(("missingServers", &missing)))
}

/// `GET /tenant/sessions/<id>`: returns a session.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, 404 for an unknown session, 503 when it may be at a server that does not
/// respond.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::USER_MANAGEMENT_READ)?;
    let media_type = head.accepted("clientSession")?;
    let session = find(&caller, &platform, &path).await?;
    Ok(reply::found(media_type, &session, &head.links()))
}

/// `DELETE /tenant/sessions/<id>`: ends a session. The next message of its client gets 402. The client may then
/// handshake again, unless its user was disabled.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, 404 for an unknown session, 503 when it may be at a server that does not
/// respond.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_sessions(&platform)?;
    head.check_mode()?;
    let session = find(&caller, &platform, &path).await?;
    session_ends::record_end(platform.database(), &administration, &session.user, &session.id).await?;
    // The session may have ended since it was looked up; that is not an error.
    platform.end_shown_session(&caller.tenant, &session.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<ClientSession> {
    let unknown = || Error::not_found(Noun::Session, id.chars().take(64).collect::<String>());
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown().into());
    }
    let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
    let wanted = WantedSessions { filter, after: None, limit: 1 };
    let FoundSessions { mut found, missing } = platform.list_sessions(&caller.tenant, wanted).await?;
    match found.sessions.pop() {
        Some(session) => Ok(session),
        None if missing.is_empty() => Err(unknown().into()),
        None => Err(Error::unavailable(format!("the server {} does not respond", missing.join(", "))).into()),
    }
}

/// Parses the filters.
fn filter(query: &Query) -> Result<SessionFilter> {
    let text = |name| query.get(name).map(ToOwned::to_owned);
    let device = query
        .get("device")
        .map(|id| {
            ManagedObjectId::parse(id)
                .map_err(|_| Error::invalid_value("device", id, "the id of a managed object"))
        })
        .transpose()?;
    Ok(SessionFilter { id: None, user: text("user"), channel: text("channel"), device })
}
