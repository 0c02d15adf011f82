//! The address that a client used, directly or through proxies: links begin with it, and it may determine the tenant.

use super::*;
use crate::lane::pair::Pair;
use crate::lane::sample::Sample;

const FORWARDED: [&[&str]; 18] = [
    &["X-Forwarded-Proto: https"],
    &["X-Forwarded-Proto: HTTPS"],
    &["X-Forwarded-Proto: ftp"],
    &["X-Forwarded-Proto: http, https"],
    &["X-Forwarded-Proto: https", "X-Forwarded-Proto: http"],
    &["X-Forwarded-Host: things.example.com"],
    &["X-Forwarded-Host: a.example.com, b.example.com:8080"],
    &["X-Forwarded-Host: a.example.com", "X-Forwarded-Host: b.example.com"],
    &["X-Forwarded-Host: a/b"],
    &["X-Forwarded-Host: "],
    &["X-Forwarded-Host: [::1]:80"],
    &["X-Forwarded-Host: \u{e4}.example.com"],
    &["X-Forwarded-Host: things.example.com", "X-Forwarded-Proto: https"],
    &["X-Forwarded-For: 192.0.2.1"],
    &["X-Forwarded-For: 192.0.2.1, 127.0.0.1"],
    &["X-Forwarded-For: nonsense"],
    &["X-Forwarded-For: [2001:db8::7]:80"],
    &["X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"],
];

/// Requests whose responses contain the address, or depend on it.
fn requests() -> [Sample; 4] {
    [
        Sample::of("{"),
        Sample::idle(),
        Sample::rows("/cep/realtime", "80"),
        Sample::idle().instead("Authorization: Basic x"),
    ]
}

#[tokio::test]
async fn forwarded_addresses_are_trusted_alike() {
    for trusted in [false, true] {
        let pair = Pair::start_with(|settings| {
            settings.trusted_proxies = if trusted { vec!["127.0.0.1".parse().unwrap()] } else { Vec::new() };
        })
        .await;
        for fields in FORWARDED {
            for request in requests() {
                let request = fields.iter().fold(request, |request, field| request.with(field));
                pair.agree(request).await;
            }
        }
    }
}

#[tokio::test]
async fn hosts_are_read_alike() {
    let database = TestDatabase::create().await;
    database.insert_tenant("acme", "acme.example.org").await;
    let pair = Pair::start_on(&database, |_| {}).await;

    for host in [
        "x:80",
        "X",
        "acme.example.org",
        "ACME.example.org:80",
        "jp.acme.example.org",
        "main",
        "acme",
        "[::1]:80",
        "",
        " ",
        "a b",
        "a/b",
        "a@b",
        "a,b",
        "x:80:80",
        "\u{e4}.de",
        &"x".repeat(300),
    ] {
        for request in requests() {
            pair.agree(request.instead(&format!("Host: {host}"))).await;
        }
    }
    for request in requests() {
        pair.agree(request.without("Host")).await;
    }
}

#[tokio::test]
async fn address_in_the_request_line_counts_alike() {
    let pair = Pair::shared().await;

    for host in ["Host: x", "Host: ", "Host: other.example.org"] {
        for path in
            ["http://y.example.org/notification/realtime", "http://y.example.org:81/cep/realtime/connect"]
        {
            pair.agree(Sample::to(path, "{").instead(host)).await;
            pair.agree(Sample::to(path, "[]").instead(host)).await;
        }
    }
}

#[tokio::test]
async fn public_address_stands_in_for_a_host_alike() {
    let pair =
        Pair::start_with(|settings| settings.public_url = Some("https://things.example.com".into())).await;

    for host in ["Host: ", "Host: a/b", "Host: x"] {
        pair.agree(Sample::of("{").instead(host)).await;
    }
}
