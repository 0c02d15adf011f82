//! Pages of callers who see only part of the events (P-07).

use super::*;

#[tokio::test]
async fn each_request_looks_at_a_bounded_number_and_all_pages_together_hold_everything() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let (device, other) = (admin.create_device("door").await, admin.create_device("other").await);
    let statement = "INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments) \
        SELECT $1, n, CASE n % 900 WHEN 0 THEN $2::bigint ELSE $3::bigint END, 't', now() - make_interval(secs \
        => n), 0, 'x', now(), '{}' FROM generate_series(1, 3000) n";
    let parameters: [i64; 2] = [device.parse().unwrap(), other.parse().unwrap()];
    server.execute(statement, &[&parameters[0], &parameters[1]]).await;
    let caller = server.user_permitted("joe", &device, &["EVENT:*:READ"]).await;

    let pages = caller.pages(&format!("{EVENTS}?pageSize=2")).await;

    let pages: Vec<_> = pages.iter().map(|page| ids(page, "events")).collect();
    assert_eq!(pages.concat(), ["900", "1800", "2700"]);
    assert!(pages.iter().all(|page| page.len() <= 2));
    assert!((3..=5).contains(&pages.len()), "3000 events in windows of a thousand: {} pages", pages.len());
    assert_eq!(admin.read(&format!("{EVENTS}?source={device}")).await["events"].as_array().unwrap().len(), 3);
    assert_eq!(caller.read(&format!("{EVENTS}?type=none")).await["events"], json!([]));
}
