//! The paths of certificates: authorities, certificates of devices, and enrollment.

use super::path::{Path, at};
use crate::api::{
    certificate_authority, device_certificates, enrollment, revoked_certificates, trusted_certificates,
};

/// Returns all paths of certificates.
pub(super) fn paths() -> impl Iterator<Item = Path> {
    of_authorities().into_iter().chain(of_enrollment())
}

/// Returns the paths of Enrollment over Secure Transport, with and without the id of a tenant as the label.
fn of_enrollment() -> [Path; 6] {
    let below =
        |path: &str| [format!("/.well-known/est/{path}"), format!("/.well-known/est/{{tenant}}/{path}")];
    let ([own, labelled], [first, first_labelled], [next, next_labelled]) =
        (below("cacerts"), below("simpleenroll"), below("simplereenroll"));
    [
        at(&own).get(enrollment::get_authorities).reserved(),
        at(&labelled).get(enrollment::get_authorities).reserved(),
        at(&first).post(enrollment::enroll).reserved(),
        at(&first_labelled).post(enrollment::enroll).reserved(),
        at(&next).post(enrollment::reenroll).reserved(),
        at(&next_labelled).post(enrollment::reenroll).reserved(),
    ]
}

/// Returns the paths of certificate authorities, and of the certificates of devices.
fn of_authorities() -> [Path; 10] {
    let authorities = "/tenant/tenants/{tenant}/trusted-certificates";
    let authority = format!("{authorities}/{{fingerprint}}");
    let proof = "/tenant/tenants/{tenant}/trusted-certificates-pop/{fingerprint}";
    let certificates = "/tenant/tenants/{tenant}/device-certificates";
    [
        at(authorities).get(trusted_certificates::list).post(trusted_certificates::create),
        at(&authority)
            .get(trusted_certificates::get)
            .put(trusted_certificates::update)
            .delete(trusted_certificates::remove),
        at(&format!("{authority}/revoked-certificates"))
            .get(revoked_certificates::list)
            .post(revoked_certificates::create),
        at(&format!("{authority}/crl")).put(revoked_certificates::upload),
        at(&format!("{proof}/verification-code")).post(trusted_certificates::issue_code),
        at(&format!("{proof}/pop")).post(trusted_certificates::prove),
        at(&format!("{proof}/confirmed")).post(trusted_certificates::confirm),
        at("/certificate-authority").get(certificate_authority::get).post(certificate_authority::create),
        at(certificates).get(device_certificates::list),
        at(&format!("{certificates}/{{fingerprint}}"))
            .get(device_certificates::get)
            .delete(device_certificates::remove),
    ]
}
