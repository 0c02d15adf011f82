//! Hostile bodies: the response is always 200 with well-formed lines, and invalid rows do not affect other rows.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::*;

/// The number of random bodies.
const BODIES: usize = 60;

/// Generates rows: ids of every kind, and texts that could be mistaken for something else.
fn row() -> impl Strategy<Value = String> {
    let id = prop_oneof![
        (0..1000_u32).prop_map(|id| id.to_string()),
        prop::sample::select(vec![
            "10", "11", "15", "61", "80", "83", "200", "113", "301", "500", "501", "-1", "", "007"
        ])
        .prop_map(ToOwned::to_owned),
    ];
    let value = prop::sample::select(vec![
        "",
        "1",
        "plat_X",
        "a b",
        "GET",
        "/s",
        "/inventory/managedObjects",
        "\"a,b\"",
        "\"\"\"\"",
        "%%",
        "STRING NOW",
        "$.id",
        "$..x",
        "$[?(@)]",
        "2024-01-01T00:00:00Z",
        "NaN",
        "\u{0}",
        "\u{1f600}",
        "\"{\"\"a\"\":1}\"",
        "\"x\"y",
        "x\"\"",
    ]);
    (id, prop::collection::vec(value, 0..9))
        .prop_map(|(id, values)| values.iter().fold(id, |row, value| row + "," + value))
}

/// Bodies of such rows, drawn anew in each run; the seed is shown when a test fails.
fn bodies() -> Vec<(u64, String)> {
    let seed = rand_seed();
    let config = Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let mut runner = TestRunner::new(config);
    let body = prop::collection::vec(row(), 0..40).prop_map(|rows| rows.join("\n"));
    (0..BODIES).map(|_| (seed, body.new_tree(&mut runner).unwrap().current())).collect()
}

fn rand_seed() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64
}

#[tokio::test]
async fn any_rows_get_200_with_lines_and_the_last_row_is_served() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (seed, body) in bodies() {
        for x_id in [None, Some("x"), Some("plat_Static")] {
            // A registered set or a body of credentials has no other rows.
            let last = body.matches('\n').count() + 2;
            let rows = format!("{body}\n98765");
            let mut request = request(&admin, &rows);
            if let Some(x_id) = x_id {
                request = request.header("X-Id", x_id);
            }

            let answer = text_of(request.send().await);

            let told = answer.lines().any(|line| {
                let line = line.split(',').take(2).collect::<Vec<_>>();
                matches!(line[..], ["41" | "42" | "43", number] if number == last.to_string())
            });
            let whole = answer.is_empty() || answer.ends_with('\n');
            assert!(whole, "seed {seed}: {rows:?}\n{answer}");
            // One line may respond to all rows of an X-Id, including the last one.
            let told = told || answer.contains("40,\"No template") || answer.contains("41,Cannot create");
            assert!(told, "seed {seed}, line {last}: {rows:?}\n{answer}");
        }
    }
}

#[tokio::test]
async fn invalid_utf_8_costs_its_line_only() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = request(&admin, "").body(b"\xef\xbb\xbf99\n\xc3\x28\n98\n\xff\xfe\n\x00\n97\n").send().await;

    let expected = "43,1,Invalid message identifier\n42,2,Malformed Request\n43,3,Invalid message identifier\n\
                    42,4,Malformed Request\n42,5,Malformed Request\n43,6,Invalid message identifier\n";
    assert_eq!(text_of(answer), expected);
}

#[tokio::test]
async fn as_many_lines_as_a_body_holds_get_a_line_each() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = send(&admin, &"7\n".repeat(1 << 19)).await;

    let mut expected = String::new();
    (1..=1 << 19).for_each(|line| writeln!(expected, "43,{line},Invalid message identifier").unwrap());
    assert!(answer == expected, "{} bytes instead of {}", answer.len(), expected.len());
}

#[tokio::test]
async fn endless_line_is_413_long_before_its_end() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let authorization = format!("Authorization: {}", admin.authorization().unwrap());
    let mut connection = RawConnection::open(server.address()).await;

    let head =
        format!("POST /s HTTP/1.1\r\nHost: x\r\n{authorization}\r\nContent-Length: 1073741824\r\n\r\n100,");
    connection.send(head).await;
    let answer = connection.read_until("\r\n\r\n").await;

    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}
