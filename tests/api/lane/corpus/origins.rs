//! Pages of other sites (C-16): what they may send, and whether they may read the response.

use super::*;
use crate::harness::application_keys::KEY;
use crate::lane::pair::Pair;
use crate::lane::sample::Sample;

const ORIGINS: [&str; 8] = [
    "https://app.example.org",
    "https://sub.example.net",
    "https://evil.example.com",
    "http://x",
    "HTTP://X",
    "null",
    "",
    "https://\u{e4}.example",
];

/// Returns requests as a page of a browser sends them: some that need no preflight request, and some that need one.
fn requests() -> Vec<Sample> {
    vec![
        Sample::idle(),
        Sample::of("{"),
        Sample::idle().without("Authorization"),
        Sample::idle().without("Content-Type"),
        Sample::idle().instead("Content-Type: text/plain"),
        Sample::rows("/cep/realtime/connect", "80"),
        Sample::rows("/cep/realtime", "80").with("X-Id: a"),
        Sample::idle().instead("Content-Type: text/plain").with("X-HTTP-METHOD: POST"),
        Sample::idle().instead("Content-Type: text/plain").with(&format!("{KEY}: k")),
        Sample::idle().instead("Content-Type: text/plain").instead("Authorization: Bearer x"),
        Sample::idle().with("Sec-Fetch-Dest: script"),
        Sample::idle().without("Authorization").with("Sec-Fetch-Dest: empty"),
        Sample::idle().without("Authorization").with("X-Requested-With: XMLHttpRequest"),
        Sample::idle().instead("Content-Type: text/plain").with("UseXBasic: true"),
        Sample::idle()
            .line("OPTIONS /notification/realtime HTTP/1.1")
            .with("Access-Control-Request-Method: POST"),
        Sample::idle().line("OPTIONS /notification/realtime HTTP/1.1"),
    ]
}

async fn all_agree(pair: &Pair) {
    for origin in ORIGINS {
        for request in requests() {
            pair.agree(request.with(&format!("Origin: {origin}"))).await;
        }
    }
    let twice =
        Sample::idle().with("Origin: https://app.example.org").with("Origin: https://evil.example.com");
    pair.agree(twice).await;
}

#[tokio::test]
async fn pages_of_other_sites_get_the_same_response_by_default() {
    all_agree(&Pair::shared().await).await;
}

#[tokio::test]
async fn pages_of_other_sites_get_the_same_response_where_a_tenant_names_them() {
    // The option would change the responses of other tests between those of the two servers.
    let pair = Pair::start().await;
    let option = "/tenant/options/access.control/allow.origin";
    let origins = json!({"value": "https://app.example.org, https://*.example.net"});
    assert_eq!(pair.lane.admin().put(option, &origins).await.status, 200);
    assert_eq!(pair.alone.admin().put(option, &origins).await.status, 200);

    all_agree(&pair).await;
}
