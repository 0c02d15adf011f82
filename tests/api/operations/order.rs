//! The order of the queue: creation (O-06, C-13).

use super::*;

#[tokio::test]
async fn operations_of_two_servers_come_in_the_order_they_were_queued() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];
    let agent = create_agent(&callers[0], "gateway").await;
    let child = create_below(&callers[0], &agent, "sensor").await;

    let mut queued = Vec::new();
    for n in 0..30 {
        let device = if n % 3 == 0 { &child } else { &agent };
        queued.push(id_of(&queue(&callers[n % 2], device).await).to_owned());
    }

    for caller in &callers {
        for parameters in ["", &format!("agentId={agent}&status=PENDING"), &format!("agentId={agent}")] {
            assert_eq!(found(caller, parameters).await, queued, "{parameters}");
        }
    }
    let numbers: Vec<i64> = queued.iter().map(|id| id.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "ids rise with creation: {numbers:?}");
}

#[tokio::test]
async fn operations_queued_at_once_have_one_order_everywhere() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];
    let agent = create_agent(&callers[0], "gateway").await;

    let posts: Vec<_> = (0..40)
        .map(|n| {
            let (caller, agent) = (callers[n % 2].clone(), agent.clone());
            tokio::spawn(async move { queue(&caller, &agent).await })
        })
        .collect();
    for post in posts {
        post.await.unwrap();
    }

    let orders = [found(&callers[0], &format!("deviceId={agent}")).await, found(&callers[1], "").await];
    assert_eq!((orders[0].len(), &orders[0]), (40, &orders[1]));
}

#[tokio::test]
async fn clock_that_was_set_back_does_not_let_an_operation_overtake() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let first = queue(&admin, &agent).await;
    // The time of the row is set as if the clock had been an hour ahead.
    let ahead = "UPDATE operations SET created_at = created_at + interval '1 hour' WHERE tenant = $1";
    server.execute(ahead, &[]).await;

    let later = [queue(&admin, &agent).await, queue(&admin, &agent).await];

    let expected = [&first, &later[0], &later[1]].map(|operation| id_of(operation).to_owned());
    assert_eq!(found(&admin, &format!("agentId={agent}&status=PENDING")).await, expected);
}

#[tokio::test]
async fn operations_and_their_changes_are_there_after_a_restart() {
    let server = TestServer::start().await;
    let database = server.shared_database();
    let agent = create_agent(&server.admin(), "gateway").await;
    let first = queue(&server.admin(), &agent).await;
    let second = queue(&server.admin(), &agent).await;
    super::change(&server.admin(), &first, json!({"status": "EXECUTING"})).await;
    server.stop().await;

    let server = TestServer::start_on(&database, |_| {}).await;
    let third = queue(&server.admin(), &agent).await;

    let page = server.admin().read(&format!("{OPERATIONS}?agentId={agent}")).await;
    let shown: Vec<_> = page["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| (operation["id"].clone(), operation["status"].as_str().unwrap()))
        .collect();
    let expected = [
        (first["id"].clone(), "EXECUTING"),
        (second["id"].clone(), "PENDING"),
        (third["id"].clone(), "PENDING"),
    ];
    assert_eq!(shown, expected);
}
