//! Builds the content that the server serves besides its API. Below `/docs` and at `/openapi.json` it is the document
//! of all routes from the files in docs/openapi, with pages from that document and from the guides; at `/asyncapi.json`
//! the document of all channels, from the same files; at `/` it is the [console]. Each file is compressed and becomes
//! part of the binary.

mod command_lines;
mod console;
mod document;
mod examples;
mod html;
mod markdown;
#[path = "../../operator/client/noun.rs"]
#[allow(dead_code, reason = "the examples need only the verbs and the members with flags of their own")]
mod noun;
#[path = "../../operator/client/nouns.rs"]
mod nouns;
#[path = "../../operator/client/nouns_of_accounts.rs"]
mod nouns_of_accounts;
mod operations;
mod pages;
mod reference;
mod roles;
mod schemas;
mod search;
mod streams;
mod types;
mod values;

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let (root, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    let (root, out) = (Path::new(&root).join("../.."), Path::new(&out));
    let docs = root.join("docs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={}", docs.display());
    for table in ["noun", "nouns", "nouns_of_accounts"] {
        println!("cargo::rerun-if-changed=../operator/client/{table}.rs");
    }

    let document = document::assemble(&docs.join("openapi"), &variable("CARGO_PKG_VERSION"));
    save(&out.join("openapi.json.gz"), &document.to_string());
    let streams = streams::assemble(&docs.join("openapi"), &document);
    save(&out.join("asyncapi.json.gz"), &streams.to_string());

    let mut table = String::from("/// The pages below `/docs` by their paths, compressed with gzip.\n");
    table.push_str("static PAGES: &[(&str, &[u8])] = &[\n");
    let pages = pages::all(&docs, &document);
    save(&out.join("search.json.gz"), &pages::index(&docs, &pages));
    for (path, html) in pages {
        let file = format!("page-{}.html.gz", path.replace('/', "-"));
        save(&out.join(&file), &html);
        writeln!(table, "    ({path:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\"))),")
            .expect("writing to memory does not fail");
    }
    table.push_str("];\n");
    fs::write(out.join("pages.rs"), table)?;
    console::make(&root.join("console"), out)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Compresses a text into a file. The same text always gives the same bytes.
fn save(path: &Path, text: &str) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("writing to memory does not fail");
    let bytes = encoder.finish().expect("writing to memory does not fail");
    fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
