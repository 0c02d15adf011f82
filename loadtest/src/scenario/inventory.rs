//! `inventory`: how long reads of a large inventory take, one after the other on one connection.

use super::Bench;
use super::sampling::{self, Samples, Walk};
use crate::cli::Inventory;
use crate::error::Error;
use crate::inventory::{ASSET_TYPES, MODELS, OWNERS, SERIAL, id, serial, type_and_name};
use crate::report::Report;

const OBJECTS: &str = "/inventory/managedObjects";
/// The unmeasured requests of each kind before.
const WARMUP: u32 = 5;
/// A number without a common factor with those that the properties follow from, so that it leads to objects
/// all over the inventory.
const STRIDE: u64 = 7_368_787;

/// A function that returns the path of the request for an object's number.
type Path = Box<dyn Fn(u32) -> String>;

/// Runs the scenario.
pub(super) async fn run(bench: &Bench, settings: &Inventory) -> Result<Report, Error> {
    let window = bench.open_window();
    let mut connection = bench.target.connect().await?;
    let mut reads = Vec::new();
    let samples = Samples { warmup: WARMUP, measured: settings.requests };
    let spread = |request| (u64::from(request) * STRIDE % u64::from(settings.shape.objects)) as u32;
    for (kind, path) in kinds(settings) {
        let path = |request| path(spread(request));
        reads.push(sampling::read(bench, &mut connection, kind, samples, path).await?);
    }
    let far =
        Walk { pages: settings.page, skipped: settings.page.saturating_sub(settings.requests), times: 1 };
    let first = |_| OBJECTS.to_owned();
    reads.push(sampling::follow(bench, &mut connection, "page far behind, by next", far, first).await?);
    let (seconds, cpu) = bench.close_window(&window);
    let clean = reads.iter().all(|reads| reads.is_within(settings.limit));
    Ok(Report { seconds, clean, reads, cpu: Some(cpu), ..bench.report("inventory", settings) })
}

/// Returns the kinds of requests.
fn kinds(settings: &Inventory) -> Vec<(&'static str, Path)> {
    let shape = settings.shape;
    let list = |parameters: String| format!("{OBJECTS}?{parameters}");
    let query = move |text: String| list(format!("query={}", encoded(&text)));
    let name = move |n: u32| encoded(&type_and_name(shape.kind(n), n).1);
    let rx = |n: u32| n % MODELS;
    vec![
        ("one object", Box::new(|n| format!("{OBJECTS}/{}", id(n))) as Path),
        (
            "external id",
            Box::new(move |n| format!("/identity/externalIds/{SERIAL}/{}", serial(shape.device_from(n)))),
        ),
        ("first page", Box::new(move |_| OBJECTS.into())),
        ("first page of 100", Box::new(move |_| list("pageSize=100".into()))),
        ("type", Box::new(move |n| list(format!("type=acme_Asset{}", n % ASSET_TYPES)))),
        ("type, page of 100", Box::new(move |_| list("type=acme_Motor&pageSize=100".into()))),
        ("fragment, dense", Box::new(move |_| list("fragmentType=plat_IsDevice".into()))),
        ("fragment, dense, 100", Box::new(move |_| list("fragmentType=plat_IsDevice&pageSize=100".into()))),
        ("fragment, rare", Box::new(move |_| list("fragmentType=plat_Rare".into()))),
        ("fragment, none", Box::new(move |_| list("fragmentType=plat_None".into()))),
        ("owner", Box::new(move |n| list(format!("owner=operator{}", n % OWNERS)))),
        (
            "owner and fragment",
            Box::new(move |n| {
                list(format!("owner=operator{}&fragmentType=plat_IsDevice&pageSize=100", n % OWNERS))
            }),
        ),
        ("text, one object", Box::new(move |n| list(format!("text={}", name(n))))),
        ("text, dense", Box::new(move |_| list("text=pum".into()))),
        (
            "query devices pump 1*",
            Box::new(move |_| query("has(plat_IsDevice) and name eq 'pump 1*'".into())),
        ),
        (
            "query devices pump 123*",
            Box::new(move |_| query("has(plat_IsDevice) and name eq 'pump 123*'".into())),
        ),
        ("query model", Box::new(move |n| query(format!("plat_Hardware.model eq 'RX{}'", rx(n))))),
        (
            "query model, 100",
            Box::new(move |n| query(format!("plat_Hardware.model eq 'RX{}'", rx(n))) + "&pageSize=100"),
        ),
        (
            "query serial number",
            Box::new(move |n| {
                query(format!("plat_Hardware.serialNumber eq '{}'", serial(shape.device_from(n))))
            }),
        ),
        ("query name", Box::new(move |n| query(format!("name eq '{}'", type_and_name(shape.kind(n), n).1)))),
        (
            "query group",
            Box::new(move |n| query(format!("bygroupid({})", id(crate::cli::Shape::group_of(n))))),
        ),
        (
            "parents of a device",
            Box::new(move |n| list(format!("childAssetId={}", id(shape.device_from(n))))),
        ),
        (
            "ids, 50",
            Box::new(move |n| {
                let ids: Vec<String> =
                    (0..50).map(|k| id((n + k * 997) % shape.objects).to_string()).collect();
                list(format!("pageSize=50&ids={}", ids.join(",")))
            }),
        ),
    ]
}

/// Percent-encodes the characters of a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(byte as char),
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}
