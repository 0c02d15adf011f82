//! Paths and links in the pages of the documentation: each leads somewhere.

use std::collections::BTreeSet;

use super::*;

/// First segments of paths that are none of the API: channels of notifications, of the module in the guide among them;
/// files of the machine; ends of paths whose beginning a sentence says.
const NO_ROUTES: [&str; 23] = [
    "meta",
    "alarms",
    "events",
    "measurements",
    "operations",
    "managedobjects",
    "alarmsOfGroup",
    "managedobjectsOfGroup",
    "alarmsWithChildren",
    "eventsWithChildren",
    "hot",
    "dev",
    "etc",
    "run",
    "tmp",
    "usr",
    "var",
    "null",
    "handshake",
    "connect",
    "disconnect",
    "summary",
    "allTenantsSummary",
];
/// The page whose paths are channels of the modules in its examples.
const OF_MODULES: &str = "/docs/modules";

/// Returns the paths in the code of a page: those of requests, channels and files.
fn paths(html: &str) -> Vec<String> {
    let codes =
        html.split("<code").skip(1).filter_map(|rest| rest.split_once('>')?.1.split("</code>").next());
    let words =
        codes.flat_map(|code| plain(code).split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>());
    words.filter(|word| word.starts_with('/')).collect()
}

/// Returns whether a path is that of a route, or the beginning of one. Placeholders fit any segment.
fn is_served(path: &str, routes: &[String]) -> bool {
    let path =
        path.split(['?', '#']).next().unwrap().trim_end_matches(['/', '.', ',', ';', '`', '*', ')', '"']);
    let own: Vec<&str> = path.split('/').collect();
    routes.iter().any(|route| {
        let route: Vec<&str> = route.split('/').collect();
        let free = |segment: &str| segment.contains(['{', '<', '…']);
        let takes_rest = route.last().is_some_and(|last| last.contains(".*")) && own.len() >= route.len();
        let fits = |(own, route): (&&str, &&str)| own == route || free(own) || free(route);
        (own.len() <= route.len() || takes_rest) && own.iter().zip(&route).all(fits)
    })
}

#[tokio::test]
async fn every_path_that_a_page_names_is_a_route() {
    let (_server, pages, _) = pages().await;
    let routes: Vec<String> =
        platform_web::routes::listed().into_iter().map(|(pattern, _)| pattern).collect();
    let others = pages.iter().filter(|(page, _)| *page != OF_MODULES);
    let named = others.flat_map(|(page, html)| paths(html).into_iter().map(move |path| (page, path)));
    let is_other = |path: &str| NO_ROUTES.contains(&path.split('/').nth(1).unwrap_or_default());
    let unknown: BTreeSet<_> =
        named.filter(|(_, path)| !is_other(path) && !is_served(path, &routes)).collect();
    assert!(unknown.is_empty(), "paths that lead nowhere: {unknown:#?}");
}

#[tokio::test]
async fn every_link_leads_to_a_page_of_this_server_or_to_another_site() {
    let (_server, pages, stranger) = pages().await;
    let mut others = BTreeSet::new();
    for (page, html) in &pages {
        for link in links(html) {
            let known =
                ["/", "#", "https://", "http://", "mailto:"].iter().any(|start| link.starts_with(start));
            assert!(known, "{page} has a link to {link:?}");
            if link.starts_with('/') && !link.starts_with("/docs") {
                others.insert(link.split('#').next().unwrap());
            }
        }
    }
    assert!(others.contains("/openapi.json") && others.contains("/asyncapi.json"), "{others:?}");
    for other in others {
        stranger.get(other).await.expect(200);
    }
}
