//! Every route while the disk is full: requests that store data are rejected, all others work as usual.

use super::fixture::{Fixture, Who};
use super::*;

/// Returns whether POST and PUT of a path store nothing that matters: log-ins, previews, Bayeux messages, positions of
/// consumers, calls of microservices, and CSV, whose rows are rejected one by one.
fn stores_nothing(path: &str) -> bool {
    let begins = [
        "/notification/",
        "/cep/realtime",
        "/cep/notifications",
        "/devicecontrol/notifications",
        "/service/",
        "/user/currentUser/tokens",
        "/console/login",
        "/console/sso/backchannel-logout",
        "/tenant/loginOptions/",
    ];
    ["/s", "/v1/oauth/accesstokens", "/retention/preview"].contains(&path)
        || begins.iter().any(|begin| path.starts_with(begin)) && path != "/notification/consumers"
}

#[tokio::test]
async fn every_route_that_stores_is_rejected_and_every_other_one_responds_as_always() {
    let fixture = Fixture::create().await;
    let rows = rows();
    let mut arranged = Vec::new();
    for row in &rows {
        arranged.push((row, fixture.arrange(&row.path, row.body.as_deref()).await));
    }

    fixture.server.fill_disk();

    let mut wrong = Vec::new();
    for (row, (path, body)) in arranged {
        let answer = send(fixture.caller(Who::Admin), &row.method, &path, body.as_deref()).await;
        let usual = row.expected[Who::Admin as usize];
        let stores = ["POST", "PUT"].contains(&&*row.method) && !stores_nothing(&row.path);
        let expected = if stores { 503 } else { usual };
        if answer.status != expected {
            wrong.push(format!("{row}: {} instead of {expected}: {}", answer.status, answer.text));
        } else if stores && !(answer.message().contains("disk") && answer.header("Retry-After").is_some()) {
            wrong.push(format!("{row} does not say why, or until when: {}", answer.text));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
