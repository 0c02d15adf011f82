//! The search over all pages, which needs neither scripts nor another server.

use super::*;

#[tokio::test]
async fn every_page_has_a_field_that_searches_all_pages() {
    let (_server, pages, stranger) = pages().await;
    for (address, html) in pages.iter().filter(|(address, _)| *address != "/docs/errors") {
        assert!(html.contains("<form action=\"/docs/search\" role=\"search\">"), "{address} has no search");
    }

    let found = stranger.get("/docs/search?q=raise+an+alarm").await.expect(200);

    assert_eq!(found.header("Content-Type"), Some("text/html;charset=UTF-8"));
    let policy = found.header("Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(found.text.contains("value=\"raise an alarm\""), "{}", found.text);
    let mut count = 0;
    for address in super::links(&found.text).filter(|link| link.contains('#')) {
        let (page, anchor) = address.split_once('#').unwrap();
        assert!(pages[page].contains(&format!("id=\"{anchor}\"")), "{address} leads nowhere");
        count += 1;
    }
    assert!(count > 2, "{}", found.text);
}

#[tokio::test]
async fn search_shows_any_question_as_text() {
    let (_server, stranger) = TestServer::shared().await.with_stranger();
    for question in ["%22%3E%3Cscript%3E", "%00%FF", "", &"%3C".repeat(3000), "a&q=b&q[]=c"] {
        let found = stranger.get(&format!("/docs/search?q={question}")).await.expect(200);
        assert!(!found.text.contains("<script") && found.text.len() < 60_000, "{question}");
    }
    assert!(stranger.get("/docs/search").await.expect(200).text.contains("Which words"));
}
