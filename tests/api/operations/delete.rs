//! DELETE of many operations (O-08, B-06).

use std::collections::HashSet;

use super::*;

#[tokio::test]
async fn deletion_takes_what_its_filters_find_and_nothing_else() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "sensor").await;
    let other = create_agent(&admin, "other").await;
    let bulk = "UPDATE operations SET bulk_operation = 7 WHERE tenant = $1 AND id = $2";

    for (filter, left) in [
        (format!("agentId={agent}"), vec![2]),
        (format!("agentId={agent}&status=PENDING"), vec![1, 2]),
        (format!("agentId={agent}&deviceId={child}"), vec![0, 2]),
        (format!("deviceId={agent}"), vec![1, 2]),
        ("status=EXECUTING".into(), vec![0, 2]),
        ("bulkOperationId=7".into(), vec![0, 1]),
        ("fragmentType=plat_Command".into(), vec![0, 2]),
        ("dateFrom=2020-01-01&dateTo=2020-01-02".into(), vec![0, 1, 2]),
        ("bulkOperationId=none".into(), vec![0, 1, 2]),
        (format!("agentId={agent}&deviceId={other}"), vec![0, 1, 2]),
    ] {
        let mut ids = Vec::new();
        for device in [&agent, &child, &other] {
            ids.push(queue(&admin, device).await);
        }
        change(&admin, &ids[1], json!({"status": "EXECUTING", "plat_Command": {}})).await;
        server.execute(bulk, &[&id_of(&ids[2]).parse::<i64>().unwrap()]).await;

        let answer = admin.delete(&format!("{OPERATIONS}?{filter}")).await;

        assert_eq!((answer.status, &*answer.text), (204, ""), "{filter}");
        let expected: Vec<&str> = left.into_iter().map(|place: usize| id_of(&ids[place])).collect();
        assert_eq!(found(&admin, "").await, expected, "{filter}");
        assert_eq!(admin.delete(OPERATIONS).await.status, 204);
    }
}

#[tokio::test]
async fn deletion_without_a_filter_takes_everything() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    // There are more operations than one step deletes.
    let fill = "INSERT INTO operations (tenant, id, device, status, created_at, fragments) \
        SELECT $1, nextval('operation_ids'), $2, 'PENDING', now(), '{}' FROM generate_series(1, 4500)";
    server.execute(fill, &[&agent.parse::<i64>().unwrap()]).await;

    assert_eq!(admin.delete(OPERATIONS).await.status, 204);

    assert_eq!(server.count("operations").await, 0);
    assert_eq!(admin.delete(OPERATIONS).await.status, 204, "of nothing");
}

#[tokio::test]
async fn wrong_filter_deletes_nothing() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;

    for filter in ["status=ALL", "dateFrom=x", "revert=x", "status=", "device=1"] {
        admin.delete(&format!("{OPERATIONS}?{filter}")).await.expect(422);
    }
    assert_eq!(found(&admin, "").await, [id_of(&operation)]);
}

#[tokio::test]
async fn each_deletion_is_published_up_to_a_thousand() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let fill = "INSERT INTO operations (tenant, id, device, status, created_at, fragments) \
        SELECT $1, nextval('operation_ids'), $2, 'PENDING', now(), '{}' FROM generate_series(1, 1200)";
    server.execute(fill, &[&agent.parse::<i64>().unwrap()]).await;
    let session = admin.listen(&format!("/operations/{agent}")).await;

    assert_eq!(admin.delete(&format!("{OPERATIONS}?deviceId={agent}")).await.status, 204);
    queue(&admin, &agent).await;

    let told = session.receive(1001).await;
    let deleted = told.iter().filter(|told| told["data"]["realtimeAction"] == "DELETE").count();
    assert_eq!((deleted, &told[1000]["data"]["realtimeAction"]), (1000, &json!("CREATE")));
    let ids: HashSet<i64> =
        told[..1000].iter().map(|told| told["data"]["data"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(ids.len(), 1000, "each once, by its id alone");
}

#[tokio::test]
async fn operation_that_is_taken_up_meanwhile_is_not_deleted_as_pending() {
    let (server, admin, agent) = TestServer::start().await.with_agent("gateway").await;
    let operation = queue(&admin, &agent).await;
    // An agent starts the operation at this moment.
    let (holder, connection) =
        tokio_postgres::connect(server.database().url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    holder.batch_execute("BEGIN; UPDATE operations SET status = 'EXECUTING', revision = 1").await.unwrap();
    let deletion = {
        let admin = admin.clone();
        tokio::spawn(async move { admin.delete(&format!("{OPERATIONS}?status=PENDING")).await.status })
    };
    server.database().until_statements_wait(1).await;
    holder.batch_execute("COMMIT").await.unwrap();

    assert_eq!(deletion.await.unwrap(), 204);

    assert_eq!(admin.read(&super::path_of(&operation)).await["status"], "EXECUTING");
}
