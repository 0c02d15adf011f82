//! Several X-Ids in one request (S-40, S-41; S-10, S-12, S-13).

use super::*;

const NO_TEMPLATE: &str = "40,\"No template for this X-ID.\"\n";
const EXISTING: &str = "41,Cannot create templates for already existing template object\n";
/// Templates with a row whose response has two lines.
const TWO_LINES: &str = "10,100,POST,/inventory/managedObjects,application/json,,%%,,\"{\"\"name\"\":\"\"%%\"\"}\"\n\
                         11,200,,,name\n11,201,,,name\n";

#[tokio::test]
async fn responses_to_rows_are_grouped_in_the_order_of_the_request() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "a", TWO_LINES).await;
    register(&admin, "b", "10,100,DELETE,/inventory/managedObjects/%%,,,%%\n11,200,,,name\n").await;
    let doomed = admin.create_device("doomed").await;

    let answer = send(
        &admin,
        &format!(
            "100,early\n15,a\n100,x\nnonsense\n15,unknown\n100,x\n100,y\n15,b\n100,{doomed}\n15,b\n100,4711\n\
             15,a\n100,\n\n100,\"y\nz\"\n999\n"
        ),
    )
    .await;

    assert_eq!(
        answer,
        "42,1,Malformed Request\n\
         87,3,a\n200,3,x\n201,3,x\n42,4,Malformed Request\n\
         87,1,unknown\n40,\"No template for this X-ID.\"\n\
         87,1,b\n50,11,404\n\
         87,3,a\n45,13,\"Value is not a STRING: \"\n50,15,400\n43,17,Invalid message identifier\n"
    );
}

#[tokio::test]
async fn group_without_lines_is_left_out() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "a", "10,100,DELETE,/inventory/managedObjects/%%,,,%%\n").await;
    let doomed = admin.create_device("doomed").await;

    assert_eq!(
        send(&admin, &format!("15,a\n100,{doomed}\n15,unknown\n")).await,
        "87,1,unknown\n40,\"No template for this X-ID.\"\n"
    );
}

#[tokio::test]
async fn x_id_in_header_and_line_is_malformed_and_the_header_counts() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "a", TWO_LINES).await;
    register(&admin, "b", "11,300,,,name\n").await;

    let answer = send_to(&admin, "a", "100,x\n15,b\n100,y\n").await;

    assert_eq!(answer, "200,1,x\n201,1,x\n42,2,Malformed Request\n200,3,y\n201,3,y\n");
    assert_eq!(send_to(&admin, "a", "15,b\n").await, "42,1,Malformed Request\n");
}

#[tokio::test]
async fn malformed_line_15_names_nobody_for_what_follows() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(&admin, "a", TWO_LINES).await;

    for line in ["15", "15,", "15,a,b", &format!("15,{}", "x".repeat(257))] {
        let answer = send(&admin, &format!("15,a\n100,x\n{line}\n100,y\n15,a\n100,z\n")).await;
        assert_eq!(
            answer,
            "87,2,a\n200,2,x\n201,2,x\n42,3,Malformed Request\n42,4,Malformed Request\n87,2,a\n200,6,z\n201,6,z\n",
            "{line}"
        );
    }
}

#[tokio::test]
async fn several_sets_are_looked_for_without_groups() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (a, b) = (register(&admin, "a", TWO_LINES).await, register(&admin, "b", TWO_LINES).await);

    let answer = send(&admin, &format!("15,b\n15,none\n\n15,{a}\n15\n15,b\n")).await;

    assert_eq!(answer, format!("20,{b}\n{NO_TEMPLATE}20,{a}\n42,5,Malformed Request\n20,{b}\n"));
}

#[tokio::test]
async fn several_sets_are_registered_each_on_its_own() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let known = register(&admin, "known", TWO_LINES).await;

    let body = format!(
        "11,200,,,id\n15,new\n{TWO_LINES}15,known\n{TWO_LINES}15,broken\n10,1,GET,x\n10,1,GET,/x\n15\n\
         10,1,GET,/x\n15,known\n15,new\n10,300,GET,/x\n15,none\n15,\"q,\"\n{TWO_LINES}"
    );
    let answer = send(&admin, &body).await;

    let (new, quoted) = (send_to(&admin, "new", "").await, send_to(&admin, "q,", "").await);
    assert!(new.starts_with("20,") && quoted.starts_with("20,"), "{new}{quoted}");
    assert_eq!(
        answer,
        format!(
            "42,1,Malformed Request\n\
             87,1,new\n{new}\
             87,1,known\n{EXISTING}\
             87,2,broken\n41,11,Bad request template definition\n41,12,Duplicate message identifiers are not allowed\n\
             42,13,Malformed Request\n42,14,Malformed Request\n\
             87,1,none\n{NO_TEMPLATE}\
             87,1,\"q,\"\n{quoted}"
        )
    );
    assert_eq!(send_to(&admin, "known", "").await, format!("20,{known}\n"));
    assert_eq!(send_to(&admin, "broken", "").await, NO_TEMPLATE);
    assert_eq!(send_to(&admin, "new", "300\n").await, "50,1,404\n", "all lines of an X-Id are one set");
    assert_eq!(server.count("managed_objects").await, 3);
}
