//! Alarms about certificates that are about to end (C-33): one for the device of a certificate, which is cleared when
//! the device has a later one, and one for the tenant of an authority.

use std::sync::Arc;

use platform_model::data::alarm::{AlarmStatus, NewAlarm, Severity};
use platform_model::error::{Error, Result};
use platform_model::fragments::Fragments;
use platform_model::links::Links;
use platform_model::naming::naming;
use platform_model::origin::Origin;
use platform_model::timestamp::Timestamp;
use platform_store::devices::certificates::device_certificates;
use platform_store::devices::certificates::expiry::{self, ExpiringAuthority, ExpiringCertificate};

use crate::device::{ClearAlarm, RaiseAlarm};
use crate::platform::Platform;
use crate::tenant_alarms::{PartOfTenant, TenantAlarm};

/// The managed object that carries the alarms about authorities of a tenant.
const AUTHORITIES: PartOfTenant =
    PartOfTenant { type_: "CertificateAuthorities", name: "Certificate authorities" };

/// Raises and clears alarms about certificates that are about to end, and deletes those that ended long ago. Several
/// servers may do so concurrently. Notifications contain links that start with `links`.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn look(platform: &Platform, links: &Links) -> Result<()> {
    let (database, origin) = (platform.database(), Arc::new(Origin::of_server(links.clone())));
    let days = i32::try_from(platform.limits().certificate_warning_days).unwrap_or(i32::MAX);
    loop {
        let expiring = expiry::claim_expiring(database, days).await?;
        for certificate in &expiring {
            let raised = raise(platform, certificate, &origin).await;
            if !is_settled("raised", raised) {
                expiry::set_warned(database, certificate, false).await?;
            }
        }
        let renewed = expiry::claim_renewed(database).await?;
        for certificate in &renewed {
            let clear = ClearAlarm { type_: alarm_type(), links: links.clone() };
            let cleared = platform.tenant(&certificate.tenant).ask_device(certificate.device, clear).await;
            if !is_settled("cleared", cleared) {
                expiry::set_warned(database, certificate, true).await?;
            }
        }
        if expiring.is_empty() && renewed.is_empty() {
            break;
        }
    }
    for authority in expiry::claim_authorities(database, days).await? {
        if !is_settled("raised", raise_of_authority(platform, &authority, &origin).await) {
            expiry::forget_warning(database, &authority).await?;
        }
    }
    device_certificates::sweep(database).await
}

async fn raise(platform: &Platform, certificate: &ExpiringCertificate, origin: &Arc<Origin>) -> Result<()> {
    let alarm = Arc::new(NewAlarm {
        source: certificate.device,
        type_: alarm_type(),
        time: Timestamp::now(),
        text: format!(
            "The certificate of the device ends at {}; the device must renew it",
            certificate.not_after
        ),
        status: AlarmStatus::Active,
        severity: Severity::Major,
        fragments: Fragments::default(),
    });
    let raise = RaiseAlarm { alarm, origin: origin.clone() };
    platform.tenant(&certificate.tenant).ask_device(certificate.device, raise).await.map(drop)
}

async fn raise_of_authority(
    platform: &Platform,
    authority: &ExpiringAuthority,
    origin: &Arc<Origin>,
) -> Result<()> {
    let text = format!(
        "The certificate authority '{}' ends at {}; devices with certificates of it cannot log in from then on",
        authority.name, authority.not_after
    );
    let alarm = TenantAlarm { of: AUTHORITIES, type_: "CertificateAuthorityExpiry", text };
    alarm.raise(&platform.tenant(&authority.tenant), origin).await
}

/// Logs an error, because the next run tries again. A deleted device is not an error.
fn is_settled(done: &str, outcome: Result<()>) -> bool {
    match outcome {
        Ok(()) | Err(Error::NotFound { .. }) => true,
        Err(error) => {
            tracing::warn!(%error, "the alarm about a certificate could not be {done} and is tried again");
            false
        }
    }
}

/// Returns `plat_CertificateExpiry`.
fn alarm_type() -> String {
    naming().fragment("CertificateExpiry")
}
