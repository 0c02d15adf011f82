//! Devices that log in with a certificate (docs/rules.md#c-28): the tenant and the user follow from the authority that
//! signed it. A certificate is verified once; later it is found by its fingerprint.

use std::time::{Duration, Instant};

use platform_front::tls::ClientCertificate;
use platform_model::device_id::DeviceId;
use platform_model::id::TenantId;
use platform_store::devices::certificates::authorities::list_of_subjects;
use platform_store::devices::certificates::device_certificates::{self, KnownCertificate};
use platform_store::devices::certificates::enrollments::{self, Enrollment};
use platform_store::devices::certificates::first_uses::{self, Registration};
use platform_store::users::find_user;
use time::OffsetDateTime;

use super::basic::Credentials;
use super::throttle::RequestSource;
use super::{Authenticator, Caller, Proof};
use crate::certificates::{self, Flaw};
use crate::http::error::{ApiError, Result};

impl Authenticator {
    /// Returns the caller of a certificate whose private key the client has.
    ///
    /// # Errors
    /// [`ApiError::Certificate`] with the reason; `Forbidden` for a suspended tenant; `TooManyRequests`, `Unavailable`
    /// or `Database`.
    pub(super) async fn verify_certificate(
        &self,
        certificate: &ClientCertificate,
        source: RequestSource,
    ) -> Result<Caller> {
        let seen = self.changes.now();
        let known = match device_certificates::find(&self.database, certificate.fingerprint()).await? {
            Some(known) => known,
            None => self.introduce(certificate, source).await?,
        };
        let refused = |flaw| refused(&known.tenant, Some(&known.user), source, flaw);
        current(&known).map_err(refused)?;
        let found = find_user(&self.database, &known.tenant, &known.user).await?;
        let (user, status) =
            found.filter(|(user, _)| user.enabled).ok_or_else(|| refused(Flaw::UserDisabled))?;
        self.admit(user, status, proof(&known, certificate.fingerprint()), seen)
    }

    /// Verifies a certificate that is not known, and stores it. Its device is registered if its authority permits it.
    async fn introduce(
        &self,
        certificate: &ClientCertificate,
        source: RequestSource,
    ) -> Result<KnownCertificate> {
        let _turn = self.throttle.slow_down(source).await?;
        let unknown = |flaw| {
            self.throttle.failed_at(source);
            refused("(unknown)", None, source, flaw)
        };
        let parsed = certificates::parse(certificate).map_err(unknown)?;
        let authorities = list_of_subjects(&self.database, &parsed.issuers).await?;
        let (verified, authority) = certificates::verify(&parsed, &authorities).map_err(unknown)?;
        let registration = match authority.settings.registers {
            true => Registration::Allowed,
            false => Registration::Refused,
        };
        let (tenant, user) = (verified.tenant.clone(), verified.device.user_name());
        let subject = verified.subject.clone();
        if first_uses::insert(&self.database, verified, registration).await? {
            tracing::info!(target: "platform::security", %tenant, user, %source, subject,
                "certificate used for the first time");
        }
        let known = device_certificates::find(&self.database, certificate.fingerprint()).await?;
        known.ok_or_else(|| refused(tenant, Some(&user), source, Flaw::NotRegistered))
    }

    /// Returns the registration of a device whose id and one-time password a header contains, in the tenant that the
    /// header or the label of the path names, or in any (C-30). Wrong guesses count as those of passwords.
    ///
    /// # Errors
    /// `Unauthorized` for anything else; `TooManyRequests`, `Unavailable` or `Database`.
    pub(crate) async fn verify_enrollment(
        &self,
        header: &[u8],
        label: Option<&str>,
        source: RequestSource,
    ) -> Result<(Enrollment, DeviceId)> {
        let Credentials { tenant, user, password } =
            Credentials::from_header(header).ok_or(ApiError::Unauthorized)?;
        let within = tenant.as_deref().or(label).map(TenantId::parse).transpose();
        let within = within.map_err(|_| ApiError::Unauthorized)?;
        let device = DeviceId::parse(&user).map_err(|_| ApiError::Unauthorized)?;
        // Without a registration there is no password to guess.
        let found = enrollments::find(&self.database, within.as_ref(), &device).await?;
        let enrollment = found.ok_or(ApiError::Unauthorized)?;
        let account = self.throttle.account(&enrollment.tenant, &device.user_name());
        let mut attempt = self.throttle.enter(account, source).await?;
        attempt.tried();
        if !self.verifies(&password, &enrollment.hash).await? {
            let (tenant, user) = (&enrollment.tenant, device.user_name());
            tracing::warn!(target: "platform::security", %tenant, user, %source, "enrollment refused");
            return Err(ApiError::Unauthorized);
        }
        attempt.succeeded();
        Ok((enrollment, device))
    }

    /// Returns the proof of a caller by certificate that is still valid; `None` if it is not.
    pub(super) async fn still_certified(&self, fingerprint: &[u8; 32]) -> Result<Option<Proof>> {
        let known = device_certificates::find(&self.database, fingerprint).await?;
        Ok(known.filter(|known| current(known).is_ok()).map(|known| proof(&known, fingerprint)))
    }
}

/// Ensures that a certificate that was verified before is accepted now.
fn current(known: &KnownCertificate) -> Result<(), Flaw> {
    certificates::ensure_valid_now(&known.validity)?;
    match known {
        known if known.is_revoked => Err(Flaw::Revoked),
        known if !known.is_trusted => Err(Flaw::Disabled),
        _ => Ok(()),
    }
}

fn proof(known: &KnownCertificate, fingerprint: &[u8; 32]) -> Proof {
    let remaining = *known.validity.end() - OffsetDateTime::now_utc();
    // An end in the far future, as of certificates that never expire, would be beyond the clock.
    let remaining =
        Duration::try_from(remaining).unwrap_or_default().min(Duration::from_secs(3600 * 24 * 365));
    Proof::Certificate { fingerprint: *fingerprint, expires: Instant::now() + remaining }
}

fn refused(
    tenant: impl std::fmt::Display,
    user: Option<&str>,
    source: RequestSource,
    flaw: Flaw,
) -> ApiError {
    let user = user.unwrap_or("(unknown)");
    tracing::warn!(target: "platform::security", %tenant, user, %source, reason = %flaw, "certificate refused");
    ApiError::refused_certificate(flaw)
}
