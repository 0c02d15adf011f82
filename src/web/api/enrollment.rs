//! `/.well-known/est`: Enrollment over Secure Transport (RFC 7030), by which devices get and renew certificates of the
//! authority of their tenant (docs/rules.md#c-30).

use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use platform_actors::Platform;
use platform_front::secrets::password::SecretKey;
use platform_front::secrets::sealing::place_of_authority_key;
use platform_front::tls::ClientCertificate;
use platform_model::device_id::DeviceId;
use platform_model::error::{Error, Noun};
use platform_model::id::TenantId;
use platform_store::devices::certificates::authorities::list_issuing;
use platform_store::devices::certificates::device_certificates::VerifiedCertificate;
use platform_store::devices::certificates::enrollments;
use platform_store::devices::certificates::first_uses::{self, Registration};
use rustls_pki_types::CertificateDer;

use super::device_credentials::CredentialPolls;
use crate::auth::{Authenticator, Caller, RequestSource};
use crate::certificates::issue::{SigningRequest, certificates_only};
use crate::certificates::{self, der_of, sha256};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::head::Head;
use crate::http::{RequestHead, authority, client_address, essence};

/// The most bytes of a request for a certificate.
const REQUEST_BYTES: usize = 64 << 10;

/// `GET /.well-known/est/cacerts` and `/.well-known/est/<tenant>/cacerts`: returns the certificates of the authorities
/// that the platform has made for the tenant of the path or of the host. It needs no credentials (RFC 7030, 4.1).
///
/// # Errors
/// 404 for a tenant without such an authority.
pub async fn get_authorities(request: HttpRequest, platform: Component<Platform>) -> Result<HttpResponse> {
    let tenant = tenant_of_path(&request).await?;
    let issuing = list_issuing(platform.database(), &tenant).await?;
    if issuing.is_empty() {
        return Err(no_authority().into());
    }
    let all: Vec<_> = issuing.iter().filter_map(|one| der_of(&one.authority.facts)).collect();
    Ok(respond("application/pkcs7-mime", &all))
}

/// `POST /.well-known/est/simpleenroll`: issues the first certificate of a device. The device sends its id and the
/// one-time password of its registration as Basic credentials, or a certificate by which it is trusted already.
///
/// # Errors
/// 401 for wrong credentials, 404 for a tenant without an authority of the platform, 409 for a password that was used
/// for another key, 415 unless the body is `application/pkcs10`, 422 for an invalid one, 429 for an address that sends
/// too many requests.
pub async fn enroll(
    request: HttpRequest,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
    polls: Component<CredentialPolls>,
) -> Result<HttpResponse> {
    let source = RequestSource::of(client_address(&request));
    polls.0.admit(source)?;
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        return reenroll(request, head, body, platform, secret_key).await;
    };
    let authenticator = request.state::<Authenticator>();
    let (enrollment, device) = authenticator
        .verify_enrollment(header.as_bytes(), request.match_info().get("tenant"), source)
        .await?;
    let signing = read(&head, body, &device).await?;
    let issued = issue(&platform, &secret_key, &enrollment.tenant, &device, &signing).await?;
    let (key, kept) = (sha256(signing.key()), platform.limits().device_credentials);
    let stored = (&issued.verified, &key);
    enrollments::use_password(platform.database(), &enrollment, stored, kept).await?;
    Ok(respond("application/pkcs7-mime; smime-type=certs-only", &[issued.certificate]))
}

/// `POST /.well-known/est/simplereenroll`: issues another certificate to a device that presents one. The old one stays
/// valid until its end.
///
/// # Errors
/// 403 for a caller that did not present a certificate; otherwise as for [`enroll`].
pub async fn reenroll(
    request: HttpRequest,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
    secret_key: Component<SecretKey>,
) -> Result<HttpResponse> {
    let caller = Caller::extract(&request).await?;
    let device = DeviceId::of_user(&caller.user).filter(|_| caller.is_by_certificate());
    let device = device.ok_or_else(|| {
        ApiError::forbidden_because("a device renews its certificate by presenting the one that it has")
    })?;
    let signing = read(&head, body, &device).await?;
    let issued = issue(&platform, &secret_key, &caller.tenant, &device, &signing).await?;
    first_uses::insert(platform.database(), issued.verified, Registration::Refused).await?;
    Ok(respond("application/pkcs7-mime; smime-type=certs-only", &[issued.certificate]))
}

/// Returns the tenant of a path, or else that of the host.
async fn tenant_of_path(request: &HttpRequest) -> Result<TenantId> {
    match request.match_info().get("tenant") {
        Some(tenant) => Ok(TenantId::known(tenant)?),
        None => {
            let authenticator = request.state::<Authenticator>();
            authenticator.tenant_of_visitors(authority(request).unwrap_or_default()).await
        }
    }
}

async fn read(head: &RequestHead, body: UnreadBody, device: &DeviceId) -> Result<SigningRequest> {
    if !essence(head).eq_ignore_ascii_case("application/pkcs10") {
        return Err(ApiError::UnsupportedMediaType("Content-Type must be application/pkcs10".into()));
    }
    Ok(SigningRequest::parse(&body.read(REQUEST_BYTES).await?, device)?)
}

/// A certificate that was issued, and as it is stored.
struct Issued {
    certificate: CertificateDer<'static>,
    verified: VerifiedCertificate,
}

/// Issues a certificate with the newest authority of the tenant.
async fn issue(
    platform: &Platform,
    secret_key: &SecretKey,
    tenant: &TenantId,
    device: &DeviceId,
    signing: &SigningRequest,
) -> Result<Issued> {
    let issuing =
        list_issuing(platform.database(), tenant).await?.into_iter().next().ok_or_else(no_authority)?;
    let facts = &issuing.authority.facts;
    let place = place_of_authority_key(tenant, &facts.fingerprint);
    let key = secret_key.sealing().open(place, &issuing.sealed_key);
    let key =
        key.ok_or_else(|| Error::unavailable("the key of the certificate authority cannot be decrypted"))?;
    let validity = (issuing.authority.settings.issued_days, facts.not_after.instant());
    let certificate = signing.issue(device, (&facts.pem, &key), validity)?;
    let presented = ClientCertificate::new(vec![certificate.clone()]);
    let presented =
        presented.ok_or_else(|| Error::Invalid("The key of the certificate is too long".into()))?;
    let verified = certificates::parse(&presented)
        .and_then(|parsed| certificates::verify(&parsed, &[issuing.authority]).map(|(verified, _)| verified));
    let verified = verified.map_err(|flaw| {
        Error::Invalid(format!(
            "Invalid certificate signing request: its certificate would be refused: {flaw}"
        ))
    })?;
    tracing::info!(target: "platform::security", %tenant, user = device.user_name(), "certificate issued");
    Ok(Issued { certificate, verified })
}

fn no_authority() -> Error {
    Error::not_found(Noun::TrustedCertificate, "certificate-authority")
}

fn respond(content_type: &str, certificates: &[CertificateDer<'_>]) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, content_type))
        .insert_header(("Content-Transfer-Encoding", "base64"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(certificates_only(certificates))
}
