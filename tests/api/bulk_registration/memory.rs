//! Memory use does not grow with the size of a file or of its result.

use super::*;

async fn send(admin: &Caller, file: String) -> [u64; 4] {
    let request = admin.request("POST", REGISTRATIONS).header("Content-Type", CONTENT_TYPE).body(form(file));
    let answer = request.send().await.expect(201);
    counts(&answer.json())
}

#[tokio::test]
async fn file_of_300_000_rows_and_its_result_cost_a_fraction_of_their_length() {
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &["--bulk-registration-lines=400000"]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    send(&admin, fleet(2000)).await;
    let before = program.peak_memory();

    // 30 MB of rows that fail in several ways, and a result of 60 MB.
    let rows = (0..300_000).map(|n| match n % 2 {
        0 => {
            format!("b{n};short;pump of a long type;Pump {n} of the northern hall, second floor, line {n};\n")
        }
        _ => format!(
            "b{n};{SECRET};pump of a long type;Pump {n} of the northern hall, second floor, line {n}\n"
        ),
    });
    let file = "ID;CREDENTIALS;TYPE;NAME;NOTE\n".to_owned()
        + &rows.collect::<String>()
        + &format!("c;{SECRET};t;n;\n");
    let result = send(&admin, file).await;

    assert_eq!(result, [300_001, 1, 300_000, 1]);
    let (Some(before), Some(after)) = (before, program.peak_memory()) else { return };
    let grown = after.saturating_sub(before);
    assert!(grown < 40_000, "{grown} kB");
}
