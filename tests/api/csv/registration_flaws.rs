//! Errors of registrations: lines 41 and 42 (S-14, S-20 to S-22, S-27, S-30; S-60).

use super::*;

#[tokio::test]
async fn every_flaw_has_its_line() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (line, text) in [
        ("10,100", "Bad request template definition"),
        ("10,100,PATCH,/x", "Bad request template definition"),
        ("10,100,get,/x", "Bad request template definition"),
        ("10,100,GET,x", "Bad request template definition"),
        ("10,100,GET,http://other.example.com/x", "Bad request template definition"),
        ("10,100,GET,/x,,,,,,", "Bad request template definition"),
        ("10,100,GET,/%%,,,%%,STRING STRING,", "Bad request template definition"),
        ("10,100,GET,/x,,\"a\nb\",,,", "Bad request template definition"),
        ("11,200", "Bad response template definition"),
        ("11,200,,", "Bad response template definition"),
        ("10,100,GET,/%%,,,%%,TEXT,", "Bad value type: TEXT"),
        ("10,100,GET,/%%,,,%%,\"A,\"\"\",", "\"Bad value type: A,\"\"\""),
        ("11,200,,,", "Bad pattern"),
        ("11,200,,,id,", "Bad pattern"),
        ("100,a", "Not a valid message identifier for template creation"),
        ("61,a", "Not a valid message identifier for template creation"),
        ("10", "Not a valid message identifier for template creation\n41,2,Bad request template definition"),
        ("10,x,GET,/x", "Not a valid message identifier for template creation"),
        ("10,-1,GET,/x", "Not a valid message identifier for template creation"),
        ("10,1234567890,GET,/x", "Not a valid message identifier for template creation"),
        ("11,1.5,,,id", "Not a valid message identifier for template creation"),
        ("10,101,GET,/x", "Duplicate message identifiers are not allowed"),
        ("11,0101,,,id", "Duplicate message identifiers are not allowed"),
        ("11,200,,,$.", "Invalid JsonPath"),
        ("11,200,$.a[,,id", "Invalid JsonPath"),
        ("11,200,,$[x],id", "Invalid JsonPath"),
        ("11,200,,,$.a[*].id", "Using JsonPath to refer to a list of objects is not allowed"),
        ("11,200,$..a,,id", "Using JsonPath to refer to a list of objects is not allowed"),
        ("11,200,,$.a[0:1],id", "Using JsonPath to refer to a list of objects is not allowed"),
        ("11,200,,,$.a[?(@.b)]", "Using Filters (?) in JsonPath is not allowed"),
        ("10,100,GET,/x,a/b", "No content type supported for GET templates."),
        ("10,100,DELETE,/x,a/b", "No content type supported for DELETE templates."),
        ("10,100,GET,/x,,,,,y", "No template string supported for GET templates."),
        ("10,100,DELETE,/x,,,,,y", "No template string supported for DELETE templates."),
        ("10,100,POST,/x,,,,,y", "No content type found for POST templates."),
        ("10,100,PUT,/x,,,,,y", "No content type found for PUT templates."),
        ("10,100,POST,/x,a/b", "No template string found for POST templates."),
        ("10,100,PUT,/x,a/b", "No template string found for PUT templates."),
        ("10,100,GET,/x,,,,STRING", "Values are only supported for templates with placeholder."),
    ] {
        let answer = send_to(&admin, "pumps", &format!("10,101,GET,/x\n{line}\n")).await;
        assert_eq!(answer, format!("41,2,{text}\n"), "{line}");
    }
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn ids_of_built_in_messages_are_not_templates_and_their_neighbours_are() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let reserved = [10, 11, 15, 20, 40, 41, 42, 43, 45, 50, 61, 70, 80, 81, 82, 83, 84, 86, 87, 88];
    let lines = |ids: &[u32]| -> String {
        let line = |(at, id): (usize, &u32)| match at % 2 {
            0 => format!("10,{id},GET,/x\n"),
            _ => format!("11,{id},,,id\n"),
        };
        ids.iter().enumerate().map(line).collect()
    };

    let refused = send_to(&admin, "pumps", &lines(&reserved)).await;
    let expected = |line| format!("41,{line},Not a valid message identifier for template creation\n");
    assert_eq!(refused, (1..=reserved.len()).map(expected).collect::<String>());
    let others: Vec<u32> = (0..=110).filter(|id| !reserved.contains(id)).collect();
    register(&admin, "pumps", &lines(&others)).await;
}

#[tokio::test]
async fn all_flaws_of_a_set_are_reported_in_the_order_of_lines_and_nothing_is_stored() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let body = "10,100,GET,/x\n\
                \n\
                10,100,put,x,,,,INT\n\
                x,1\n\
                11,200,\"$.\",\"$..a\",\n\
                100,a\n\
                15,other\n\
                10,102,DELETE,/x,a/b,,,,y\n\
                10,103,GET,/x,\"\n";
    let answer = send_to(&admin, "pumps", body).await;

    assert_eq!(
        answer,
        "41,3,Duplicate message identifiers are not allowed\n\
         41,3,Bad request template definition\n\
         41,3,Values are only supported for templates with placeholder.\n\
         41,3,Bad value type: INT\n\
         42,4,Malformed Request\n\
         41,5,Invalid JsonPath\n\
         41,5,Using JsonPath to refer to a list of objects is not allowed\n\
         41,5,Bad pattern\n\
         41,6,Not a valid message identifier for template creation\n\
         42,7,Malformed Request\n\
         41,8,No content type supported for DELETE templates.\n\
         41,8,No template string supported for DELETE templates.\n\
         42,9,Malformed Request\n"
    );
    assert_eq!(send_to(&admin, "pumps", "").await, "40,\"No template for this X-ID.\"\n");
    assert_eq!(server.count("managed_objects").await, 0);
}

#[tokio::test]
async fn trailing_empty_fields_may_be_dropped_or_sent() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    register(&admin, "a", "10,1,GET,/x\n10,2,GET,/x,,,,,\n10,3,DELETE,/x,,a/b\n10,4,GET,//other\n").await;
    register(&admin, "b", "10,5,PUT,/%%,a/b,,%%,\"  STRING   NOW \",%%\n11,6,,,id\r\n").await;
    register(&admin, "c", " 11 , 200 , , , id , $.name \r\n").await;
}

#[tokio::test]
async fn line_beside_templates_that_is_none_rejects_its_set_only() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = send(&admin, "15,a\n10,100,GET,/x\n100,x\n15,b\n10,100,GET,/x\n").await;

    let id = answer.lines().last().unwrap().strip_prefix("20,").unwrap();
    assert_eq!(
        answer,
        format!("87,1,a\n41,3,Not a valid message identifier for template creation\n87,1,b\n20,{id}\n")
    );
    assert_eq!(send_to(&admin, "a", "").await, "40,\"No template for this X-ID.\"\n");
    assert_eq!(send_to(&admin, "b", "").await, format!("20,{id}\n"));
}
