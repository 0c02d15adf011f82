//! Pages of the collection (P-01 to P-06).

use super::*;

/// Ids of all pages that the links `next` lead to.
async fn followed(caller: &Caller, first: &str) -> Vec<Vec<String>> {
    caller.pages(first).await.iter().map(|page| ids(page, "operations")).collect()
}

#[tokio::test]
async fn following_next_gives_each_operation_once_in_order_by_every_way() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let children = [create_below(&admin, &agent, "a").await, create_below(&admin, &agent, "b").await];
    let mut queued = Vec::new();
    for n in 0..7 {
        let device = if n % 3 == 2 { &agent } else { &children[n % 3] };
        queued.push(id_of(&queue(&admin, device).await).to_owned());
    }
    // All have the same creation time, so that only the ids determine the order.
    server.execute("UPDATE operations SET created_at = now() WHERE tenant = $1", &[]).await;
    let reverted: Vec<String> = queued.iter().rev().cloned().collect();

    for filter in ["", "status=PENDING", "fragmentType=plat_Restart", "agentId", "agentId&status=PENDING"] {
        let filter = filter.replace("agentId", &format!("agentId={agent}"));
        for (order, expected) in [("", &queued), ("&revert=true", &reverted)] {
            let pages = followed(&admin, &format!("{OPERATIONS}?pageSize=3&{filter}{order}")).await;
            let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
            assert_eq!((sizes, &pages.concat()), (vec![3, 3, 1], expected), "{filter}{order}");
        }
    }
}

#[tokio::test]
async fn pages_by_their_number_alone_are_the_same() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let child = create_below(&admin, &agent, "a").await;
    let mut queued = Vec::new();
    for n in 0..5 {
        queued.push(id_of(&queue(&admin, if n % 2 == 0 { &agent } else { &child }).await).to_owned());
    }

    for filter in ["", "status=PENDING", "fragmentType=plat_Restart", "agentId", "agentId&status=PENDING"] {
        let filter = filter.replace("agentId", &format!("agentId={agent}"));
        for (number, expected) in [(1, &queued[..2]), (2, &queued[2..4]), (3, &queued[4..]), (4, &[])] {
            let page = admin.read(&format!("{OPERATIONS}?pageSize=2&currentPage={number}&{filter}")).await;
            let ids: Vec<&str> = page["operations"].as_array().unwrap().iter().map(id_of).collect();
            assert_eq!(ids, *expected, "{filter} page {number}");
            assert_eq!(page.get("next").is_some(), number < 3, "{filter} page {number}");
            assert_eq!(page.get("prev").is_some(), number > 1, "{filter} page {number}");
        }
    }
}

#[tokio::test]
async fn what_is_queued_between_two_pages_comes_behind() {
    let (_server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let first = [queue(&admin, &agent).await, queue(&admin, &agent).await];
    let path = format!("{OPERATIONS}?agentId={agent}&status=PENDING&pageSize=1");

    let page = admin.read(&path).await;
    let third = queue(&admin, &agent).await;
    // Finished operations leave the collection, and the position of the next page stays.
    super::change(&admin, &first[0], serde_json::json!({"status": "EXECUTING"})).await;

    let rest = followed(&admin, page["next"].as_str().unwrap()).await;
    assert_eq!(rest.concat(), [id_of(&first[1]), id_of(&third)]);
}

#[tokio::test]
async fn operations_of_a_bulk_operation_are_paged_in_order() {
    let (server, admin, agent) = TestServer::shared().await.with_agent("gateway").await;
    let mut queued = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let device = create_below(&admin, &agent, name).await;
        queued.push(id_of(&queue(&admin, &device).await).to_owned());
    }
    server
        .execute("UPDATE operations SET bulk_operation = 5, created_at = now() WHERE tenant = $1", &[])
        .await;

    for (order, expected) in [("", queued.clone()), ("&revert=true", queued.into_iter().rev().collect())] {
        let pages = followed(&admin, &format!("{OPERATIONS}?pageSize=2&bulkOperationId=5{order}")).await;
        assert_eq!((pages.len(), pages.concat()), (3, expected), "{order}");
    }
}
