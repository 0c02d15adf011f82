//! `/certificate-authority`: the authority that the platform makes for the devices of the caller's tenant
//! (docs/rules.md#c-30). Its key is stored encrypted and is never shown.

use std::sync::Arc;

use actix_web::HttpResponse;
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::sealing::place_of_authority_key;
use platform_model::devices::trusted_certificate::{IdSource, parse_new_authority};
use platform_model::error::{Error, Noun};
use platform_store::devices::certificates::authorities::{self, NewAuthority};

use super::trusted_certificates::{TYPE, readable};
use crate::auth::Caller;
use crate::certificates::authority::parse_authority;
use crate::certificates::issue::make_authority;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::{RequestHead, reply};

/// `POST /certificate-authority`: makes an authority. It issues certificates from now on; an earlier one stays trusted
/// until it is disabled or deleted.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_ADMIN, 409 for too many authorities, 422 for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let by = caller.administers_groups(&platform, caller.tenant.as_str()).await?;
    head.check_mode()?;
    let (media_type, settings) = body.parse(&[TYPE], |body| parse_new_authority(body, &by.tenant)).await?;
    let made = make_authority(&by.tenant)?;
    let facts = parse_authority(&made.pem)?;
    let place = place_of_authority_key(&by.tenant, &facts.fingerprint);
    let sealed = secret_key.sealing().seal(place, &made.key);
    let draft = NewAuthority {
        facts: &facts,
        settings: &settings,
        id_source: IdSource::CommonName,
        sealed_key: Some(&sealed),
    };
    let created = authorities::insert_authority(platform.database(), &by, draft).await?;
    let links = head.links();
    let location = links.trusted_certificate(&created.tenant, created.facts.fingerprint.as_str());
    Ok(reply::created(&head, media_type, location, &Arc::new(created), &links))
}

/// `GET /certificate-authority`: returns the authority with which the platform issues certificates now.
///
/// # Errors
/// 403 without ROLE_USER_MANAGEMENT_READ, 404 as long as there is none.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let tenant = readable(&caller, &platform, caller.tenant.as_str()).await?;
    let media_type = head.accepted(TYPE)?;
    let mut issuing = authorities::list_issuing(platform.database(), &tenant).await?.into_iter();
    let newest =
        issuing.next().ok_or_else(|| Error::not_found(Noun::TrustedCertificate, "certificate-authority"))?;
    Ok(reply::found(media_type, &newest.authority, &head.links()))
}
