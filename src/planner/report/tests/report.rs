//! Reports of the hand-made sample, read back by other means than those that wrote them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod sample;
mod schema;

use serde_json::Value;
use sha2::{Digest, Sha256};

fn json(sample: &sample::Sample) -> Value {
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    serde_json::from_slice(&plimsoll_report::json(&report).unwrap()).unwrap()
}

#[test]
fn the_json_follows_its_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/report-schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for sample in [sample::sample(), sample::infeasible()] {
        let faults = schema::faults(&schema, &json(&sample));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

#[test]
fn the_schema_finds_faults() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/report-schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut broken = json(&sample::sample());
    broken["plan"]["datastores"] = "four".into();
    broken["plan"]["frontier"][2]["iops"]["binding"] = "weather".into();
    broken["vms"]["rows"][0][5] = Value::Null;
    broken["provenance"].as_object_mut().unwrap().remove("model");
    assert_eq!(schema::faults(&schema, &broken).len(), 4);
}

#[test]
fn the_json_holds_what_tooling_relies_on() {
    let sample = sample::sample();
    let json = json(&sample);
    assert_eq!(
        json["answer"],
        "Four 20 TiB datastores on Premium carry next year’s p95 load with one of four hosts \
         down, and 26% to spare.",
    );
    assert_eq!(json["inventory"]["totals"]["vms_in_file"], 268);
    assert_eq!(json["plan"]["tier"], "premium");
    assert_eq!(json["plan"]["datastore_size_gib"], 20_480.0);
    assert_eq!(json["plan"]["monthly_cost"]["currency"], "USD");
    assert_eq!(json["plan"]["binding_resource"], "pool");
    assert_eq!(json["plan"]["frontier"].as_array().unwrap().len(), 16);
    assert_eq!(json["problems"].as_array().unwrap().len(), 140);
    assert_eq!(json["findings"][0]["severity"], "stops");
    // One VM is not placed: it has no datastore and no move.
    let first = &json["vms"]["rows"][0];
    assert_eq!(first[0], "sql-erp-01");
    assert_eq!((&first[6], &first[8]), (&Value::Null, &Value::Null));
    assert_eq!(json["vms"]["rows"].as_array().unwrap().len(), sample.demand.vms.len());
}

#[test]
fn the_document_hash_can_be_checked() {
    let sample = sample::sample();
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    let text = String::from_utf8(plimsoll_report::json(&report).unwrap()).unwrap();
    let hash = report.document_sha256.clone();
    assert_eq!(hash.len(), 64);
    let without = text.replace(&hash, "");
    let digest = Sha256::digest(without.as_bytes());
    let computed: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(computed, hash);
    assert!(plimsoll_report::html(&report).contains(&hash));
}

#[test]
fn identical_input_gives_identical_bytes() {
    let formats = || {
        let sample = sample::sample();
        let input = sample.input();
        let report = plimsoll_report::compose(&input);
        [
            plimsoll_report::html(&report).into_bytes(),
            plimsoll_report::json(&report).unwrap(),
            plimsoll_report::xlsx(&report).unwrap(),
            plimsoll_report::csv(&report).unwrap(),
            plimsoll_report::md(&report).into_bytes(),
            plimsoll_report::rejected_rows_xlsx(&sample.problems).unwrap(),
        ]
    };
    let first = formats();
    // A workbook with a clock in it would differ in the second after.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert!(first == formats());
}

#[test]
fn the_workbook_adds_up() {
    use calamine::{Data, Reader, Xlsx};

    let sample = sample::sample();
    let input = sample.input();
    let bytes = plimsoll_report::xlsx(&plimsoll_report::compose(&input)).unwrap();
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(std::io::Cursor::new(bytes)).unwrap();
    assert_eq!(
        book.sheet_names(),
        [
            "Summary",
            "Frontier",
            "Tiers",
            "Demand by class",
            "VMs",
            "Datastores plan",
            "Placement",
            "Findings",
            "Problems",
            "Assumptions",
            "Provenance",
        ],
    );
    let summary = book.worksheet_range("Summary").unwrap();
    let value = |name: &str| {
        summary
            .rows()
            .find(|row| row[0] == Data::String(name.to_owned()))
            .and_then(|row| calamine::DataType::as_f64(&row[1]))
            .unwrap_or_else(|| panic!("no {name}"))
    };
    // Results stored with the formulas, against the inventory's own totals.
    let tib = |mib: u64| mib as f64 / 1_048_576.0;
    let totals = &sample.inventory.totals;
    assert!((value("Provisioned") - tib(totals.provisioned_mib)).abs() < 1e-9);
    assert!((value("In use, vInfo") - tib(totals.in_use_mib)).abs() < 1e-9);
    assert!((value("Used space that counts") - sample.demand.used_today.tib().0).abs() < 1e-9);
    assert_eq!(value("VMs in the file"), totals.vms_in_file as f64);
    assert_eq!(value("VMs that carry load"), totals.vms_counted as f64);
    assert_eq!(value("Price a month"), sample.plan.monthly_cost.as_ref().unwrap().amount);
    assert_eq!(value("Problems kept"), 140.0);
    let formulas = book.worksheet_formula("Summary").unwrap();
    let live = formulas.cells().filter(|(_, _, formula)| !formula.is_empty()).count();
    assert!(live >= 15, "{live} formulas");
    // A name that looks like a formula is text.
    let vms = book.worksheet_formula("VMs").unwrap();
    assert!(vms.cells().all(|(_, _, formula)| formula.is_empty()));

    let rejected = plimsoll_report::rejected_rows_xlsx(&sample.problems).unwrap();
    let mut book: Xlsx<_> =
        calamine::open_workbook_from_rs(std::io::Cursor::new(rejected)).unwrap();
    let rows = book.worksheet_range("Rejected rows").unwrap();
    assert_eq!(rows.height(), 141);
    assert_eq!(rows.get((1, 4)), Some(&Data::String("=1+1 <i>n/a</i>".to_owned())));
}

#[test]
fn foreign_text_stays_text() {
    let sample = sample::sample();
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    let html = plimsoll_report::html(&report);
    assert!(!html.contains("<script>alert"), "a VM name became markup");
    assert!(!html.contains("<i>n/a</i>"), "a cell value became markup");
    assert!(!html.contains("<b>12 GiB</b>"), "evidence became markup");
    assert!(html.contains("&lt;i&gt;n/a&lt;/i&gt;"));
    let csv = String::from_utf8(plimsoll_report::csv(&report).unwrap()).unwrap();
    for line in csv.lines() {
        for start in ["=", "+", "-", "@", "\"=", "\"+", "\"-", "\"@"] {
            assert!(!line.starts_with(start), "a formula leads: {line}");
        }
    }
    assert!(csv.contains("'=HYPERLINK"));
}

#[test]
fn the_page_is_whole_and_fetches_nothing() {
    let sample = sample::sized(100_000);
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    let html = plimsoll_report::html(&report);
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    for fetch in [" src=", "<link", "@import", "url(http", "url(\"", "href=\"http"] {
        assert!(!html.contains(fetch), "the page fetches by {fetch}");
    }
    // Every reference within the page has its target, and no id stands twice.
    let ids = attribute(&html, " id=\"");
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "an id stands twice");
    for target in attribute(&html, "href=\"#") {
        assert!(unique.binary_search(&target).is_ok(), "no target for #{target}");
    }
    for target in attribute(&html, "aria-labelledby=\"").into_iter().flat_map(|ids| ids.split(' '))
    {
        assert!(unique.binary_search(&target).is_ok(), "no label {target}");
    }
}

fn attribute<'a>(html: &'a str, start: &str) -> Vec<&'a str> {
    html.match_indices(start)
        .filter_map(|(at, _)| html[at + start.len()..].split('"').next())
        .collect()
}

#[test]
fn headings_go_down_one_level_at_a_time() {
    let sample = sample::sample();
    let input = sample.input();
    let html = plimsoll_report::html(&plimsoll_report::compose(&input));
    let mut last = 0;
    for (at, _) in html.match_indices("<h") {
        let Some(level) = html[at + 2..].chars().next().and_then(|digit| digit.to_digit(10)) else {
            continue;
        };
        assert!(level <= last + 1, "h{level} after h{last}");
        last = level;
    }
    assert_eq!(html.matches("<h1").count(), 1);
}

#[test]
fn every_figure_has_both_drawings_words_and_a_table() {
    let sample = sample::sample();
    let input = sample.input();
    let html = plimsoll_report::html(&plimsoll_report::compose(&input));
    let figures = html.matches("<figure>").count();
    assert_eq!(figures, 5);
    assert_eq!(html.matches("role=\"img\" aria-labelledby").count(), 2 * figures);
    assert_eq!(html.matches("<desc ").count(), 2 * figures);
    assert_eq!(html.matches("as a table</summary>").count(), figures);
    assert!(!html.contains("could not be drawn"));
    assert!(!html.to_lowercase().contains("#5e00"), "a sentinel colour is left");
}

#[test]
fn a_plan_that_does_not_hold_says_why() {
    let sample = sample::infeasible();
    let json = json(&sample);
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.starts_with("No plan on Azure VMware Solution"), "{answer}");
    assert!(answer.contains("343,000 IOPS are needed"), "{answer}");
    assert!(json["deck"].as_str().unwrap().contains("The nearest plan is 16 datastores of 5 TiB"));
    assert_eq!(json["plan"]["feasible"], false);
}

#[test]
fn the_edges_of_the_plan_are_drawn() {
    // One datastore, one host, no load, no price, no name: whatever a plan can hold.
    let mut sample = sample::sample();
    sample.plan.frontier.truncate(1);
    sample.plan.datastores = 1;
    sample.plan.monthly_cost = None;
    sample.plan.frontier[0].monthly_cost = None;
    sample.plan.load_iops.0 = 0.0;
    sample.plan.needed_iops.0 = 0.0;
    sample.plan.frontier[0].iops.p95 = f64::NAN;
    sample.plan.tier_name.clear();
    sample.plan.capacity.truncate(1);
    sample.plan.sensitivities.clear();
    sample.plan.by_hosts.clear();
    sample.plan.tco = None;
    sample.plan.flow_budget.datastores_per_ip = vec![0, 40];
    sample.plan.flow_budget.max_connections_per_ip = 256;
    sample.plan.flow_budget.hosts = 64;
    sample.inventory.vms.truncate(3);
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    let html = plimsoll_report::html(&report);
    assert!(!html.contains("NaN"), "a value that is no number is shown");
    assert!(!html.contains("could not be drawn"));
    plimsoll_report::json(&report).unwrap();
    plimsoll_report::xlsx(&report).unwrap();
    plimsoll_report::csv(&report).unwrap();

    sample.plan.frontier.clear();
    sample.plan.capacity.clear();
    sample.plan.placements.clear();
    sample.plan.unplaced.clear();
    sample.demand.vms.clear();
    let input = sample.input();
    let report = plimsoll_report::compose(&input);
    assert!(plimsoll_report::html(&report).contains("There is no VM to place."));
    plimsoll_report::xlsx(&report).unwrap();
    assert!(plimsoll_report::md(&report).contains("There is no VM to place."));
}
