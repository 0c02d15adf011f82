//! The collection as a table (G-09).

use super::*;

const HEADER: &str = "time,source,device_name,fragment.series,value,unit\r\n";

async fn table(caller: &Caller, query: &str, accept: &str) -> Response {
    caller.request("GET", &format!("{MEASUREMENTS}?{query}")).header("Accept", accept).send().await
}

#[tokio::test]
async fn table_has_a_line_for_each_reading() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("pump, \"old\"").await;
    let members = json!({"env": {"t": {"value": -1.5, "unit": "C"}, "h": {"value": 3}}, "note": "no line"});
    let time = "2024-03-10T02:30:00+01:00";
    admin.create(MEASUREMENTS, &measurement_with(&device, "t", time, &members)).await;

    let answer = table(&admin, "", "text/csv").await.expect(200);

    assert!(answer.header("Content-Type").unwrap().starts_with("text/csv;"));
    let start = format!("2024-03-10T02:30:00.000+01:00,{device},\"pump, \"\"old\"\"\"");
    assert_eq!(answer.text, format!("{HEADER}{start},env.t,-1.5,C\r\n{start},env.h,3,\r\n"));
}

#[tokio::test]
async fn table_is_paged_filtered_and_converted_as_json_is() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    for n in 1..=3 {
        let members = json!({"env": {"t": {"value": n * 100, "unit": "C"}}});
        let time = format!("2024-03-10T00:00:0{n}Z");
        admin.create(MEASUREMENTS, &measurement_with(&device, &format!("t{n}"), &time, &members)).await;
    }

    let values = |answer: Response| {
        let lines = answer.text.lines().skip(1);
        lines.map(|line| line.split(',').nth(4).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(table(&admin, "pageSize=2", "text/csv").await), ["100", "200"]);
    assert_eq!(values(table(&admin, "pageSize=2&currentPage=2", "text/csv").await), ["300"]);
    assert_eq!(values(table(&admin, "revert=true&pageSize=1", "text/csv").await), ["300"]);
    assert_eq!(values(table(&admin, "type=t2", "text/csv").await), ["200"]);
    assert_eq!(table(&admin, "type=none", "text/csv").await.text, HEADER);
    let request = admin.request("GET", &format!("{MEASUREMENTS}?pageSize=1")).header("Accept", "text/csv");
    let imperial = request.header("X-Platform-System-Of-Units", "imperial").send().await;
    assert!(imperial.text.ends_with(",env.t,212,°F\r\n"), "{}", imperial.text);
}

#[tokio::test]
async fn json_is_given_where_it_is_accepted_first() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (accept, is_table) in [
        ("text/csv", true),
        ("TEXT/CSV; charset=utf-8", true),
        ("text/csv, application/json", true),
        ("text/html, text/csv;q=0.9, */*;q=0.1", true),
        ("application/json, text/csv", false),
        ("*/*", false),
    ] {
        let answer = table(&admin, "", accept).await;
        assert_eq!(answer.text == HEADER, is_table, "{accept}: {}", answer.text);
    }
    assert_eq!(table(&admin, "", "text/html").await.status, 406);
    assert_eq!(table(&admin, "", "application/vnd.ms-excel").await.status, 406);
}

#[tokio::test]
async fn texts_that_a_spreadsheet_would_run_are_kept_text() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let device = admin.create_device("=HYPERLINK(\"http://x\")").await;
    let members = json!({"+cmd": {"t": {"value": -1, "unit": "@x"}}});
    admin.create(MEASUREMENTS, &measurement_with(&device, "t", "2024-03-10T00:00:00Z", &members)).await;

    let answer = table(&admin, "", "text/csv").await;

    let line = answer.text.lines().nth(1).unwrap();
    assert!(line.ends_with("\"'=HYPERLINK(\"\"http://x\"\")\",'+cmd.t,-1,'@x"), "{line}");
}
