//! Filters, order and pages (Y-04, X-18, P-01 to P-06).

use super::*;

/// Creates records with the members that filters read. Their `text` identifies them.
async fn records(admin: &Caller) {
    for (text, kind, source, user, application, time) in [
        ("a", "Door", "1", "joe", "cockpit", "2024-03-10T00:00:00Z"),
        ("b", "Door", "2", "mary", "cockpit", "2024-03-08T00:00:00Z"),
        ("c", "Alarm", "1", "joe", "admin", "2024-03-09T02:00:00+02:00"),
        ("d", "Alarm", "2", "mary", "admin", "2024-03-11T00:00:00Z"),
    ] {
        let mut body = record_of(kind, source);
        body["text"] = json!(text);
        body["user"] = json!(user);
        body["application"] = json!(application);
        body["time"] = json!(time);
        admin.create(RECORDS, &body).await;
    }
}

async fn found(admin: &Caller, query: &str) -> String {
    member_texts(&admin.read(&format!("{RECORDS}?{query}")).await, "auditRecords", "text").concat()
}

#[tokio::test]
async fn filters_are_exact_and_combined() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    records(&admin).await;

    for (query, texts) in [
        ("", "abcd"),
        ("type=Door", "ab"),
        ("type=door", ""),
        ("user=joe", "ac"),
        ("application=admin", "cd"),
        ("source=2", "bd"),
        ("source=3", ""),
        ("type=Alarm&user=mary", "d"),
        ("type=Door&user=joe&application=cockpit&source=1", "a"),
        ("type=Door&user=joe&application=admin", ""),
        ("colour=red", "abcd"),
    ] {
        assert_eq!(found(&admin, query).await, texts, "{query}");
    }
}

#[tokio::test]
async fn order_is_by_id_and_with_a_range_by_time_and_revert_turns_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    records(&admin).await;

    for (query, texts) in [
        ("revert=false", "abcd"),
        ("revert=true", "dcba"),
        ("dateFrom=2024-03-01", "bcad"),
        ("dateFrom=2024-03-01&revert=true", "dacb"),
        ("dateTo=2024-03-10", "bca"),
        ("dateFrom=2024-03-09T00:00:00Z&dateTo=2024-03-10T00:00:00Z", "ca"),
        ("dateFrom=2024-03-09T01:00:00+01:00&dateTo=2024-03-10T00:00:00Z&user=joe", "ca"),
        ("dateFrom=2030-01-01", ""),
    ] {
        assert_eq!(found(&admin, query).await, texts, "{query}");
    }
}

#[tokio::test]
async fn pages_are_followed_by_their_next_links_in_every_order() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    records(&admin).await;

    for (query, texts) in [
        ("pageSize=1", "abcd"),
        ("pageSize=3&revert=true", "dcba"),
        ("pageSize=2&dateFrom=2024-03-01", "bcad"),
        ("pageSize=1&dateFrom=2024-03-01&revert=true", "dacb"),
    ] {
        let pages = admin.pages(&format!("{RECORDS}?{query}")).await;
        let seen: String = pages.iter().flat_map(|page| member_texts(page, "auditRecords", "text")).collect();
        assert_eq!(seen, texts, "{query}");
    }
}

#[tokio::test]
async fn collection_has_self_records_and_statistics() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let record = admin.create(RECORDS, &record_of("Door", "1")).await;

    let list = admin.read(&format!("{RECORDS}?source=1&withTotalPages=true")).await;

    let link = format!("{}{RECORDS}?source=1&withTotalPages=true&pageSize=5&currentPage=1", server.base());
    assert_eq!(
        list,
        json!({
            "self": link,
            "auditRecords": [record],
            "statistics": {"totalPages": 1, "pageSize": 5, "currentPage": 1},
        })
    );
}

#[tokio::test]
async fn records_with_the_same_time_are_all_seen_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for _ in 0..7 {
        admin.create(RECORDS, &record_of("Door", "1")).await;
    }

    let first = admin.read(&format!("{RECORDS}?dateFrom=2024-03-01&pageSize=4")).await;
    let second = admin.read(first["next"].as_str().unwrap()).await;

    let mut seen = [ids(&first, "auditRecords"), ids(&second, "auditRecords")].concat();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), second.get("next")), (7, None));
}

#[tokio::test]
async fn wrong_parameters_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for query in [
        "dateFrom=yesterday",
        "dateTo=",
        "revert=maybe",
        "pageSize=0",
        "currentPage=x",
        "type=%00",
        "source=a%00",
    ] {
        admin.get(&format!("{RECORDS}?{query}")).await.expect(422);
    }
}
