//! DELETE by filters (Y-04).

use super::*;

#[tokio::test]
async fn what_the_filters_find_is_deleted_and_nothing_else() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for (text, kind, source, day) in [
        ("a", "Door", "1", "08"),
        ("b", "Door", "2", "09"),
        ("c", "Alarm", "1", "10"),
        ("d", "Alarm", "2", "11"),
    ] {
        let mut body = record_of(kind, source);
        body["text"] = json!(text);
        body["time"] = json!(format!("2024-03-{day}T00:00:00Z"));
        admin.create(RECORDS, &body).await;
    }

    for (query, left) in [
        ("type=Gate", "abcd"),
        ("type=Door&source=1", "bcd"),
        ("dateFrom=2024-03-09&dateTo=2024-03-10T00:00:00Z&revert=true", "d"),
        ("user=mary", "d"),
    ] {
        let answer = admin.delete(&format!("{RECORDS}?{query}")).await;
        assert_eq!((answer.status, answer.text.as_str()), (204, ""), "{query}");
        assert_eq!(
            member_texts(&admin.read(RECORDS).await, "auditRecords", "text").concat(),
            left,
            "{query}"
        );
    }
}

#[tokio::test]
async fn without_a_filter_everything_of_the_tenant_is_deleted_whatever_it_counts() {
    let (server, admin) = TestServer::start_with_tenant("plant7", "plant7.example.com").await.with_admin();
    let stranger = server.caller("plant7/admin", crate::harness::ADMIN_PASSWORD);
    stranger.create(RECORDS, &record_of("Door", "1")).await;
    let many = "INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, \
        changes, created_at) SELECT 'main', n, 'Door', 'a', now(), 't', '1', 'u', 'minor', '[]', now() \
        FROM generate_series(1, 12000) n";
    server.database().execute(many, &[]).await;

    admin.delete(RECORDS).await.expect(204);

    assert_eq!(server.database().count("audit_records").await, 1, "that of the other tenant");
}

#[tokio::test]
async fn two_deletions_at_once_are_both_204() {
    let server = TestServer::shared().await;
    let many = "INSERT INTO audit_records (tenant, id, type, activity, time, text, source, user_name, severity, \
        changes, created_at) SELECT $1, n, 'Door', 'a', now(), 't', '1', 'u', 'minor', '[]', now() \
        FROM generate_series(1, 12000) n";
    server.execute(many, &[]).await;
    let admin = server.admin();

    let (all, some) = tokio::join!(admin.delete(RECORDS), admin.delete("/audit/auditRecords?source=1"));

    assert_eq!((all.status, some.status), (204, 204), "{} {}", all.text, some.text);
    assert_eq!(server.count("audit_records").await, 0);
}

#[tokio::test]
async fn wrong_filters_delete_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    admin.create(RECORDS, &record_of("Door", "1")).await;

    for query in ["dateFrom=x", "dateTo=2024-13-01", "revert=1", "type=%00", "sources=1"] {
        admin.delete(&format!("{RECORDS}?{query}")).await.expect(422);
    }
    assert_eq!(server.count("audit_records").await, 1);
}
