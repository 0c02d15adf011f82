//! The roles that the documentation names: each exists, and the page of roles says what it allows.

use std::collections::BTreeSet;

use platform_model::role;

use super::*;
use crate::harness::reference::REFERENCE;

/// Roles in examples that a microservice defines.
const OF_MICROSERVICES: [&str; 1] = ["ROLE_WEATHER_READ"];
/// Roles that channels of notifications require and no operation.
const OF_CHANNELS: [&str; 1] = ["ROLE_NOTIFICATION_READ"];

/// Returns the names of roles in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
    words.filter(|word| word.len() > "ROLE_".len() && word.starts_with("ROLE_"))
}

#[test]
fn reference_explains_exactly_the_roles_of_the_platform() {
    let explained: BTreeSet<&str> =
        REFERENCE["x-roles"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(explained, role::ALL.into_iter().collect());
}

#[test]
fn explanation_of_a_role_says_whether_anything_requires_it() {
    let paths = REFERENCE["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let descriptions: Vec<_> = operations.filter_map(|operation| operation["description"].as_str()).collect();
    for (role, explanation) in REFERENCE["x-roles"].as_object().unwrap() {
        let required = OF_CHANNELS.contains(&&**role)
            || descriptions.iter().any(|text| names(text).any(|name| name == role));
        let explanation = explanation.as_str().unwrap();
        assert_eq!(
            explanation.starts_with("Nothing in this server requires it"),
            !required,
            "{role}: {explanation}"
        );
        assert!(explanation.ends_with('.'), "{role}: {explanation}");
    }
}

#[tokio::test]
async fn every_role_that_a_page_names_exists() {
    let (_server, pages, _) = pages().await;
    let known = |name: &str| role::ALL.contains(&name) || OF_MICROSERVICES.contains(&name);
    let named = pages.iter().flat_map(|(page, html)| names(html).map(move |name| (page, name)));
    let unknown: BTreeSet<_> = named.filter(|(_, name)| !known(name)).collect();
    assert!(unknown.is_empty(), "roles that do not exist: {unknown:#?}");
    for role in role::ALL {
        assert!(
            pages["/docs/roles"].contains(&format!("id=\"{role}\"")),
            "{role} is not on the page of roles"
        );
    }
}
