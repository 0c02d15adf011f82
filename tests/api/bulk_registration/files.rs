//! Formats of the file, and errors that reject a file as a whole (N-10, N-16).

use super::*;

#[tokio::test]
async fn separator_is_found_in_the_header() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (n, separator) in ["\t", ";", ","].iter().enumerate() {
        let header = ["ID", "CREDENTIALS", "TYPE", "NAME"].join(separator);
        let row = [&*format!("a{n}"), SECRET, "t", "\"a;b,c\td\""].join(separator);
        assert_eq!(register(&admin, format!("{header}\n{row}\n")).await, all_created(1), "{separator:?}");
        assert_eq!(object_of(&admin, "plat_Serial", &format!("a{n}")).await["name"], "a;b,c\td");
    }
}

#[tokio::test]
async fn row_with_another_separator_than_the_header_fails_alone() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!("ID;CREDENTIALS\na1,{SECRET}\na2\t{SECRET}\na3;{SECRET}\n");
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [3, 1, 2, 1]);
    assert!(failures(&result).iter().all(|(_, reason)| reason.contains("1 columns; allowed: 2")), "{result}");
    assert!(!result.to_string().contains(SECRET), "{result}");
}

#[tokio::test]
async fn header_names_are_known_in_any_case_behind_a_byte_order_mark() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!("\u{feff} Id ;credentials;tYpe;NAME\r\nä1;{SECRET};t;Pümpe\r\n");
    assert_eq!(register(&admin, file).await, all_created(1));

    assert_eq!(object_of(&admin, "plat_Serial", "%C3%A41").await["name"], "Pümpe");
}

#[tokio::test]
async fn file_that_is_not_utf_8_is_windows_1252() {
    let (server, admin) = TestServer::shared().await.with_admin();

    // The invalid byte is far behind the first bytes, so the encoding cannot be decided by those.
    let mut file = b"ID;CREDENTIALS;TYPE;NAME\na1;".to_vec();
    file.extend(SECRET.bytes().chain(*b";t;M\xc3\xbcller \x80\n"));
    for n in 0..5000 {
        file.extend(format!("b{n};{SECRET};;\n").bytes());
    }
    file.extend(b"a2;geh\xe9im-und-lang-genug;t;\xdcber\n");
    assert_eq!(register(&admin, file).await, all_created(5002));

    assert_eq!(object_of(&admin, "plat_Serial", "a1").await["name"], "MÃ¼ller €");
    assert_eq!(object_of(&admin, "plat_Serial", "a2").await["name"], "Über");
    assert!(super::comes_in(&server.caller("device_a2", "gehéim-und-lang-genug")).await);
}

#[tokio::test]
async fn quotes_are_those_of_rfc_4180_and_blank_lines_are_skipped() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (n, end) in ["\n", "\r\n", "\r"].iter().enumerate() {
        let file = format!(
            "\n\"ID\";\"CREDENTIALS\";TYPE;NAME\n\n\n\"a{n}\";{SECRET};t;\"a \"\"b\"\" ;\n\nc\"\n   \n\n"
        );
        let result = register(&admin, file.replace('\n', end)).await;
        assert_eq!(result, all_created(1), "{end:?}");
        let name = object_of(&admin, "plat_Serial", &format!("a{n}")).await["name"].clone();
        assert_eq!(name, format!("a \"b\" ;{end}{end}c"));
    }
}

#[tokio::test]
async fn file_without_rows_creates_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for file in ["ID;CREDENTIALS", "ID;CREDENTIALS\n", "\u{feff}ID;CREDENTIALS\r\n\r\n", "ID;CREDENTIALS\r"] {
        assert_eq!(register(&admin, file).await, all_created(0), "{file:?}");
    }
}

#[tokio::test]
async fn files_that_hold_no_row_that_could_be_carried_out_are_422() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (file, text) in [
        ("", "ID"),
        ("\n\n", "ID"),
        ("NAME;CREDENTIALS\nx;y\n", "included: ID"),
        ("ID;NAME\nx;y\n", "included: CREDENTIALS"),
        ("ID;ICCID;PATH\nx;y;z\n", "included: CREDENTIALS"),
        ("a1;secret-1;pump\n", "included: ID,CREDENTIALS"),
        ("ID;CREDENTIALS;ID\n", "each column once"),
        ("ID;CREDENTIALS;Name;NAME\n", "each column once"),
        ("\"ID;CREDENTIALS\na1;secret-of-a-machine\n", "quote"),
        ("I\0D;CREDENTIALS\n", "I\0D"),
        ("\u{fffe}I\0D\0;\0C\0", "column"),
        ("PK\x03\x04\x14\0\x06\0\x08\0!\0", "column"),
    ] {
        let answer = upload(&admin, file).await.expect(422);
        assert!(answer.message().contains(text), "{file:?}: {}", answer.message());
    }
    for file in
        [&b"\xff\xfeI\0D\0"[..], b"\x80\x81\x8d", &[0; 3000], &b";".repeat(5000), &b"x".repeat(2 << 20)]
    {
        upload(&admin, file).await.expect(422);
    }
}

#[tokio::test]
async fn hostile_cells_fail_their_row_alone() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let nul = "x\0y";
    let rows = [
        format!("{nul};{SECRET};t;n;;"),
        format!("a1;secret{nul}secret-12;t;n;;"),
        format!("a2;{SECRET};{nul};n;;"),
        format!("a3;{SECRET};t;{nul};;"),
        format!("a4;{SECRET};t;n;{nul};"),
        format!("a5;{SECRET};t;n;;{nul}"),
        format!("a6;{SECRET};t;{};;", "x".repeat(2000)),
        format!("a7;{SECRET};t;n;{};", "x".repeat(2000)),
        format!("a8;{SECRET};t;n;;{}", "x/".repeat(40)),
        format!("'; DROP TABLE users; --;{SECRET};t;n;;"),
        format!("a9;{SECRET};\\u0000;{{}};[\"\\ud800\"];"),
    ];
    let result =
        register(&admin, "ID;CREDENTIALS;TYPE;NAME;external-x;PATH\n".to_owned() + &rows.join("\n")).await;

    assert_eq!(counts(&result), [11, 1, 10, 1], "{result}");
    assert_eq!(object_of(&admin, "plat_Serial", "a9").await["type"], "\\u0000");
}

#[tokio::test]
async fn quote_that_nobody_closes_ends_the_file_there() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let file = format!("ID;CREDENTIALS;NAME\na1;{SECRET};\na2;{SECRET};\"open\na3;{SECRET};\na4;{SECRET};\n");
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [2, 1, 1, 1]);
    let reason = &failures(&result)[0].1;
    assert!(reason.contains("line 3") && reason.contains("not closed"), "{reason}");
    let long = format!(
        "ID;CREDENTIALS;NAME\na5;{SECRET};\na6;{SECRET};\"{}",
        "a row of the quote;\n".repeat(1 << 17)
    );
    let result = register(&admin, long).await;
    assert_eq!((counts(&result), failures(&result).len()), ([2, 1, 1, 1], 1));
}

#[tokio::test]
async fn form_without_a_part_file_is_422_and_no_form_415() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let post = async |content_type: &str, body: Vec<u8>| {
        let request = admin.request("POST", REGISTRATIONS).header("Content-Type", content_type);
        request.body(body).send().await
    };
    let part = |name: &str| {
        format!("------boundary4711\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\nID\r\n")
    };
    let end = "------boundary4711--\r\n";

    let other = post(CONTENT_TYPE, (part("files") + end).into()).await;
    let twice = post(CONTENT_TYPE, (part("file") + &part("file") + end).into()).await;
    let more = post(CONTENT_TYPE, (part("x") + &part("file") + &part("y") + end).into()).await;
    let plain = post("text/csv", b"ID;CREDENTIALS\n".to_vec()).await;
    let broken = post(CONTENT_TYPE, form("ID;CREDENTIALS\n")[..40].to_vec()).await;

    assert_eq!((other.status, other.message().contains("file")), (422, true), "{}", other.text);
    assert_eq!((twice.status, more.status, plain.status, broken.status), (422, 201, 415, 400));
}

#[tokio::test]
async fn file_with_too_many_lines_is_422() {
    let (server, admin) =
        TestServer::start_with(|settings| settings.limits.bulk_registration_lines = 100).await.with_admin();

    assert_eq!(upload(&admin, super::fleet(50)).await.status, 201);
    for end in ["\n", "\r"] {
        upload(&admin, super::fleet(200).replace('\n', end)).await.expect_message(422, "at most 100 lines");
    }
    assert_eq!(server.count("managed_objects").await, 50);
}

#[tokio::test]
async fn file_that_is_too_large_is_413() {
    let (server, admin) = TestServer::start_with(|settings| settings.limits.bulk_registration_bytes = 10_000)
        .await
        .with_admin();

    assert_eq!(upload(&admin, super::fleet(100)).await.status, 201);
    let answer = upload(&admin, super::fleet(1000)).await;

    assert_eq!((answer.status, answer.message().contains("10000")), (413, true), "{}", answer.text);
    assert_eq!(server.count("managed_objects").await, 100);
    assert_eq!(upload(&admin, "x".repeat(1 << 20)).await.status, 413);
}

#[tokio::test]
async fn files_of_spreadsheets_are_read() {
    let (server, admin) = TestServer::shared().await.with_admin();

    // The first line names the separator, the last columns are empty, and blanks stand around the values.
    let file = format!(
        "\u{feff}sep=|\r\nID|CREDENTIALS|TYPE|NAME|acme_Note| |\r\n\
         s1 | {SECRET} |  pump | Pump, one; first |\" kept \"||\r\n s2|\"{SECRET}\"|pump|Pump 2|| | \r\n\
         s3|{SECRET}|pump|Pump 3|||surplus\r\n"
    );
    let result = register(&admin, file).await;

    assert_eq!(counts(&result), [3, 2, 1, 2]);
    let reason =
        "Line 5: Invalid value of 'row': a value in column 7; allowed: nothing in a column without a name";
    assert_eq!(failures(&result), [(String::new(), reason.to_owned())]);
    let object = object_of(&admin, "plat_Serial", "s1").await;
    assert_eq!((&object["type"], &object["name"]), (&"pump".into(), &"Pump, one; first".into()));
    assert_eq!(object["acme_Note"], " kept ");
    for user in ["device_s1", "device_s2"] {
        assert!(super::comes_in(&server.caller(user, SECRET)).await, "{user}");
    }
}

#[tokio::test]
async fn name_of_the_file_may_be_latin_1() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let form = form(format!("ID;CREDENTIALS\nl1;{SECRET}\n"));
    let at = form.windows(7).position(|bytes| bytes == b"devices").expect("the name of the file");
    let named = [&form[..at], b"ger\xe4te", &form[at + 7..]].concat();

    let request = admin.request("POST", REGISTRATIONS).header("Content-Type", CONTENT_TYPE);
    let answer = request.accepting_json().body(named).send().await.expect(201);

    assert_eq!(answer.json(), all_created(1));
}

#[tokio::test]
async fn column_that_is_wrong_is_named_with_its_number_and_line() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (file, text) in [
        (
            "sep=;\nID;;NAME\n",
            "Invalid value of 'column': no name (column 2 in line 2); allowed: names of 1 to",
        ),
        (
            "\n\nID;CREDENTIALS;$x\n",
            "Invalid value of 'column': $x (column 3 in line 3); allowed: names of 1 to",
        ),
        (
            "ID;CREDENTIALS;id\n",
            "Invalid value of 'column': id (column 3 in line 1); allowed: each column once",
        ),
    ] {
        let answer = upload(&admin, file).await.expect(422);
        assert!(answer.message().starts_with(text), "{}", answer.text);
    }
}
