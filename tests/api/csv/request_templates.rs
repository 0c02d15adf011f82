//! Request templates: rows, their arguments, and the calls they stand for (S-20 to S-28; S-05, S-07; lines 43, 45 and
//! 50).

use super::*;

const JSON: &str = "application/json";

#[tokio::test]
async fn arguments_are_counted_and_checked() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut templates =
        format!("10,900,GET,/x\n10,901,PUT,/x,{JSON},,%%,NOW,%%\n10,902,PUT,/x/%%,{JSON},,%%,,%%\n");
    for (id, kind) in (911..).zip(["STRING", "UNSIGNED", "INTEGER", "NUMBER", "DATE"]) {
        templates += &format!("10,{id},GET,/x/%%,,,%%,{kind}\n");
    }
    register(&admin, "pumps", &templates).await;
    let (none, wrong) = ("45,1,No arguments supported", "45,1,Wrong number of arguments");

    for (row, answer) in [
        ("900", "50,1,404"),
        ("900,", "50,1,404"),
        ("900,,", none),
        ("900,a", none),
        ("901,", "50,1,404"),
        ("901,a", none),
        ("902,a,b", "50,1,404"),
        ("902,a,b,", "50,1,404"),
        ("902,a,b,,", wrong),
        ("902,a,b,c", wrong),
        ("902,a", wrong),
        ("902", wrong),
        ("902,,b", "45,1,\"Value is not a STRING: \""),
        ("911,\"\"", "45,1,\"Value is not a STRING: \""),
        ("911, ", "45,1,\"Value is not a STRING: \""),
        ("912,007", "50,1,404"),
        ("912,-1", "45,1,Value is not a UNSIGNED: -1"),
        ("912,\"a,b\"", "45,1,\"Value is not a UNSIGNED: a,b\""),
        ("913,-1", "50,1,404"),
        ("913,1.5", "45,1,Value is not a INTEGER: 1.5"),
        ("914,-1.5e+3", "50,1,404"),
        ("914,\"1,5\"", "45,1,\"Value is not a NUMBER: 1,5\""),
        ("915,2024-03-10", "50,1,404"),
        ("915,2024-03-10T02:30:00.123+01:00", "50,1,404"),
        ("915,today", "45,1,Value is not a DATE: today"),
        ("916,a", "43,1,Invalid message identifier"),
        ("0900", "50,1,404"),
        ("1234567890", "42,1,Malformed Request"),
        ("-900", "42,1,Malformed Request"),
    ] {
        assert_eq!(send_to(&admin, "pumps", row).await, format!("{answer}\n"), "{row}");
    }
}

#[tokio::test]
async fn values_are_inserted_as_they_are_and_never_searched_for_placeholders() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(
        &admin,
        "pumps",
        &format!(
            "10,100,POST,/inventory/managedObjects,{JSON},,%%,STRING NUMBER NOW \
             STRING,\"{{\"\"name\"\":\"\"%%\"\",\"\"x\"\":%%,\"\"at\"\":\"\"%%\"\",\"\"y\"\":%%}}\"\n\
                 11,200,,,name,x,y\n11,201,,,at\n"
        ),
    )
    .await;

    let answer = send_to(&admin, "pumps", "100,%%,1.50,\"{\"\"%%\"\":[\"\"%%\"\"]}\"\n").await;
    let at = answer.lines().last().unwrap().strip_prefix("201,1,").unwrap();
    let shape: String = at.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000+00:00");
    assert_eq!(answer, format!("200,1,%%,1.5,\"{{\"\"%%\"\":[\"\"%%\"\"]}}\"\n201,1,{at}\n"));

    // No quote, line break or other end of a JSON text in a value creates new members.
    for value in ["\"a\"\"b\"", "\"a\nb\"", "a\\"] {
        assert_eq!(send_to(&admin, "pumps", &format!("100,{value},1,2")).await, "50,1,400\n", "{value}");
    }
    // A number of a row becomes a number of JSON (S-24a).
    for (given, shown) in [(".5", "0.5"), ("+25.3", "25.3"), ("007", "7"), ("5.", "5")] {
        let answer = send_to(&admin, "pumps", &format!("100,a,{given},2")).await;
        assert!(answer.starts_with(&format!("200,1,a,{shown},2\n")), "{given}: {answer}");
    }
    assert_eq!(send_to(&admin, "pumps", "100,a,1,x").await, "50,1,400\n");
}

#[tokio::test]
async fn values_in_a_path_name_what_they_name() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    register(
        &admin,
        "ids",
        &format!(
            "10,900,POST,/identity/globalIds/{device}/externalIds,{JSON},,%%,\
             ,\"{{\"\"type\"\":\"\"t\"\",\"\"externalId\"\":\"\"%%\"\"}}\"\n\
             10,901,GET,/identity/externalIds/t/%%,,,%%\n\
             11,200,,,externalId\n"
        ),
    )
    .await;

    for value in [
        "a b",
        "a?b",
        "a#b",
        "a%b",
        "%2e%2e",
        "a+b&c<d>",
        "ü\u{1f600}",
        "a=b;c@d:e",
        "..",
        "../x",
        "x/../../y",
        "%%",
        "{a}[b]|^",
    ] {
        let answer = send_to(&admin, "ids", &format!("900,\"{value}\"\n901,\"{value}\"\n")).await;
        assert_eq!(answer, format!("200,1,{value}\n200,2,{value}\n"), "{value}");
    }
    // In a value without dot segments a slash is not escaped, so that the value may be a path.
    assert_eq!(send_to(&admin, "ids", "901,a/b").await, "50,1,404\n");
}

#[tokio::test]
async fn values_in_a_query_do_not_end_it() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    register(
        &admin,
        "find",
        "10,900,GET,/inventory/managedObjects?type=%%&pageSize=1,,,%%\n11,200,managedObjects,,name\n",
    )
    .await;

    for (n, value) in ["a&pageSize=0", "a#b", "a b+c", "../x", "ü", "50%"].into_iter().enumerate() {
        let object = json!({"name": n.to_string(), "type": value});
        admin.create("/inventory/managedObjects", &object).await;
        assert_eq!(send_to(&admin, "find", &format!("900,{value}")).await, format!("200,1,{n}\n"), "{value}");
    }
}

#[tokio::test]
async fn some_paths_and_foreign_hosts_are_not_targets() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut rows = Vec::new();
    let mut templates = String::from("10,999,GET,/%%,,,%%\n");
    for (id, uri) in (900..).zip([
        "/s",
        "/s?a=b",
        "/%73",
        "/notification/realtime",
        "/notification/operations",
        "/notification/realtime/connect",
        "/notification/",
        "/notification/foo",
        "/notification/foo/bar",
        "/cep/realtime",
        "/cep/notifications",
        "/devicecontrol/notifications",
        "//other.example.com/x",
        "//",
    ]) {
        templates += &format!("10,{id},POST,{uri},{JSON},,,,[]\n");
        rows.push(id.to_string());
    }
    register(&admin, "pumps", &templates).await;
    rows.extend(
        ["s", "cep/realtime", "/other", "%2Fother", "other.example.com"].map(|value| format!("999,{value}")),
    );

    for row in rows {
        let status = if row.contains("%2F") || row.contains("other.") { 404 } else { 403 };
        assert_eq!(send_to(&admin, "pumps", &row).await, format!("50,1,{status}\n"), "{row}");
    }
}

#[tokio::test]
async fn rows_do_what_their_caller_may_and_refusals_are_lines() {
    let (server, admin) = TestServer::start_with_tenant("t7", "plant7.example.com").await.with_admin();
    let foreign = server.caller("t7/admin", ADMIN_PASSWORD).create_device("theirs").await;
    register(
        &admin,
        "pumps",
        "10,900,GET,/inventory/managedObjects/%%,,,%%\n10,901,GET,/user/%%/users,,,%%\n10,902,GET,/alarm/alarms\n\
         10,903,GET,/no such path\n10,904,DELETE,/event/events/%%,,,%%\n11,200,,,name\n11,201,,,users[0].id\n",
    )
    .await;
    let own = admin.create_device("pump").await;
    let nobody = server.user_with("nobody", &[]).await;

    let rows = format!("900,{own}\n900,{foreign}\n901,main\n901,t7\n902\n903\n904,4711\n");
    let answer = send_to(&admin, "pumps", &rows).await;
    let rest =
        [admin.get("/user/t7/users").await.status, admin.get("/inventory/managedObjects/4711").await.status];
    assert_eq!(
        answer,
        format!("200,1,pump\n50,2,{}\n201,3,admin\n50,4,{}\n50,6,400\n50,7,404\n", rest[1], rest[0])
    );
    assert_eq!(
        send_to(&nobody, "pumps", &rows).await,
        "50,1,403\n50,2,404\n50,3,403\n50,4,403\n50,5,403\n50,6,400\n50,7,404\n"
    );
}

#[tokio::test]
async fn rows_have_the_processing_mode_of_the_request() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = "\"{\"\"type\"\":\"\"%%\"\",\"\"text\"\":\"\"x\"\",\"\"severity\"\":\"\"MAJOR\"\",\
        \"\"time\"\":\"\"%%\"\",\"\"source\"\":{\"\"id\"\":\"\"%%\"\"}}\"";
    register(
        &admin,
        "pumps",
        &format!(
            "10,900,POST,/alarm/alarms,{JSON},,%%,STRING NOW \
        UNSIGNED,{alarm}\n11,200,,,type\n11,201,,,id,type\n"
        ),
    )
    .await;

    let transient = request(&admin, &format!("900,a,{device}"))
        .header("X-Id", "pumps")
        .header("X-Platform-Processing-Mode", "TRANSIENT");
    assert_eq!(transient.send().await.text, "200,1,a\n", "no id, for it is not stored");
    assert!(send_to(&admin, "pumps", &format!("900,b,{device}")).await.starts_with("200,1,b\n201,1,"));

    assert_eq!(member_texts(&admin.read("/alarm/alarms").await, "alarms", "type"), ["b"]);
}

#[tokio::test]
async fn rows_that_only_create_get_responses_in_their_order() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let event = "\"{\"\"type\"\":\"\"%%\"\",\"\"text\"\":\"\"x\"\",\"\"time\"\":\"\"%%\"\",\
        \"\"source\"\":{\"\"id\"\":\"\"%%\"\"}}\"";
    let templates = format!(
        "10,900,POST,/event/events,{JSON},,%%,STRING NOW STRING,{event}\n\
         10,901,GET,/event/events?pageSize=1&withTotalPages=true,,,%%\n\
         11,200,,,type\n11,201,$.statistics,,totalPages\n"
    );
    register(&admin, "pumps", &templates).await;

    let mut rows = String::new();
    let mut expected = String::new();
    for n in 1..=300 {
        // Every hundredth row is rejected, and one in the middle waits for all rows before it.
        let source = if n % 100 == 0 { "4711" } else { &device };
        rows += &if n == 150 { "901\n".to_owned() } else { format!("900,t{n},{source}\n") };
        expected += &match n {
            150 => "201,150,148\n".to_owned(),
            _ if n % 100 == 0 => format!("50,{n},422\n"),
            _ => format!("200,{n},t{n}\n"),
        };
    }
    assert_eq!(send_to(&admin, "pumps", &rows).await, expected);
}
