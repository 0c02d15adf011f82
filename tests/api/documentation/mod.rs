//! The documentation that the server serves: what the API reference says of each member and parameter, and what its
//! pages show. `matrix::reference` compares the reference with the routes and with real requests.

mod descriptions;
mod examples;
mod names;
mod roles;
mod search;
mod streams;
mod words;

use std::collections::BTreeMap;

use crate::harness::prelude::*;

/// Returns a server, the address and the HTML of every page, and a caller without credentials.
async fn pages() -> (TestServer, BTreeMap<String, String>, Caller) {
    let (server, stranger) = TestServer::shared().await.with_stranger();
    let (mut pages, mut waiting) = (BTreeMap::new(), vec!["/docs".to_owned()]);
    while let Some(address) = waiting.pop() {
        if pages.contains_key(&address) {
            continue;
        }
        let html = stranger.get(&address).await.expect(200).text;
        let paths = links(&html).map(|link| link.split('#').next().unwrap().to_owned());
        waiting.extend(paths.filter(|path| path.starts_with("/docs")));
        pages.insert(address, html);
    }
    (server, pages, stranger)
}

/// Returns the targets of the links of a page.
fn links(html: &str) -> impl Iterator<Item = &str> {
    html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns a text without the entities of HTML.
fn plain(html: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(html.to_owned(), |text, (entity, character)| text.replace(entity, character))
}
