//! The issuer of JWTs (C-04).

use super::*;
use crate::harness::issuer::{RSA_2048, claims};

pub(super) async fn issuer_has_either_spelling(admin: &Caller) {
    for (issuer, status) in [("acme", 200), ("platform", 200), ("Acme", 401), ("acme.com", 401), ("", 401)] {
        let mut claims = claims("main", "admin", 3600.0);
        claims["iss"] = json!(issuer);
        let token = RSA_2048.sign(&RSA_2048.header(), &claims);

        let (answered, text) = status_of(admin.with_token(&token).request("GET", OBJECTS)).await;

        assert_eq!(answered, status, "{issuer}: {text}");
    }
}
