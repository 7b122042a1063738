//! An inventory to join to, and files as sources write them.

use std::io::Write as _;

use plimsoll_ingest::rows::{RowRef, Text};
use plimsoll_ingest::{Input, Limits};
use plimsoll_inventory::{
    Datastore, DatastoreKind, Exclusion, Inventory, UsedSource, Vm, VmId, VmIds,
};
use plimsoll_performance::{Error, Metric, ReadOptions, Series, Survey, read};
use plimsoll_units::Mib;

pub fn vm(name: &str, id: &str, uuid: &str, vcenter: &str) -> Vm {
    let stated = |text: &str| (!text.is_empty()).then(|| Text::from(text));
    Vm {
        name: Text::from(name),
        key: format!("name:{name}"),
        ids: VmIds {
            uuid: stated(uuid),
            id: stated(id),
            vcenter_uuid: None,
            vcenter: stated(vcenter),
        },
        at: RowRef { file: 0, row: 2 },
        power: None,
        exclusion: None,
        cpus: Some(4),
        memory: Some(Mib(8192)),
        provisioned: Some(Mib(204_800)),
        used: Mib(102_400),
        used_source: UsedSource::InUse,
        disk_capacity: None,
        partition_consumed: None,
        snapshots: Mib(0),
        largest_disk: None,
        disks: (0, 0),
        datastores: Vec::new(),
        cluster: None,
        host: None,
        os: None,
        rules: Vec::new(),
        custom: Vec::new(),
    }
}

fn datastore(name: &str) -> Datastore {
    Datastore {
        name: Text::from(name),
        key: format!("name:{name}"),
        at: Vec::new(),
        kind: DatastoreKind::Nfs,
        address: None,
        nfs_server: None,
        accessible: true,
        local: false,
        capacity: Some(Mib(1_048_576)),
        provisioned: None,
        in_use: None,
        free: None,
        hosts: Vec::new(),
        pod: None,
        tier_hint: None,
        vms: Vec::new(),
    }
}

/// Four VMs that count, two of one name among them, and one that is off.
pub fn site() -> Inventory {
    let off = Vm {
        exclusion: Some(Exclusion::PoweredOff),
        ..vm("old-01", "vm-9", "5000aaaa-0000-0000-0000-000000000009", "vc1")
    };
    Inventory {
        vms: vec![
            vm("db-01", "vm-1", "5000aaaa-0000-0000-0000-000000000001", "vc1"),
            vm("web-01", "vm-2", "5000aaaa-0000-0000-0000-000000000002", "vc1"),
            vm("twin", "vm-3", "5000aaaa-0000-0000-0000-000000000003", "vc1"),
            vm("twin", "vm-3", "5000aaaa-0000-0000-0000-000000000004", "vc2"),
            off,
        ],
        datastores: vec![datastore("vol-01"), datastore("vol-02")],
        ..Inventory::default()
    }
}

pub const DB: VmId = VmId(0);

pub fn try_survey(
    name: &str,
    text: impl Into<Vec<u8>>,
    options: &ReadOptions,
) -> Result<Survey, Error> {
    let input = Input::memory(name, text.into());
    read(&[input], &site(), options, &Limits::default(), &mut |_| true)
}

pub fn survey(text: impl Into<Vec<u8>>) -> Survey {
    try_survey("file.dat", text, &ReadOptions::default()).unwrap()
}

pub fn in_zone(zone: &str) -> ReadOptions {
    ReadOptions { time_zone: Some(zone.to_owned()), day_first: None }
}

/// The series of a metric of the object of that name.
pub fn series<'s>(survey: &'s Survey, name: &str, metric: Metric) -> &'s Series {
    let of = |series: &&Series| {
        survey.entities[series.entity.0 as usize].name == name && series.metric == metric
    };
    survey.series.iter().find(of).unwrap_or_else(|| panic!("no {metric:?} of {name}: {survey:#?}"))
}

pub fn values(series: &Series) -> Vec<f32> {
    series.samples.iter().map(|sample| sample.value).collect()
}

/// How often a problem was met, and its first text.
pub fn problem(survey: &Survey, code: &str) -> Option<String> {
    let found = survey.problems.items.iter().find(|problem| problem.code == code)?;
    Some(format!("{:?} {} {}: {}", found.row, found.column, found.value, found.action))
}

/// A workbook of one text sheet for each entry.
pub fn workbook(sheets: &[(&str, &[&[&str]])]) -> Vec<u8> {
    let head = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#;
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006";
    let (mut list, mut links, mut types) = (String::new(), String::new(), String::new());
    let mut entries = Vec::new();
    for (at, (name, rows)) in (1..).zip(sheets) {
        list.push_str(&format!(r#"<sheet name="{name}" sheetId="{at}" r:id="rId{at}"/>"#));
        links.push_str(&format!(
            r#"<Relationship Id="rId{at}" Type="{office}/worksheet" Target="worksheets/sheet{at}.xml"/>"#
        ));
        types.push_str(&format!(
            r#"<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>"#
        ));
        let mut body = String::new();
        for (row, cells) in (1..).zip(*rows) {
            body.push_str(&format!(r#"<row r="{row}">"#));
            for (column, text) in ('A'..='Z').zip(*cells) {
                match text.parse::<f64>() {
                    Ok(number) => {
                        body.push_str(&format!(r#"<c r="{column}{row}"><v>{number}</v></c>"#));
                    }
                    Err(_) => body.push_str(&format!(
                        r#"<c r="{column}{row}" t="inlineStr"><is><t>{text}</t></is></c>"#
                    )),
                }
            }
            body.push_str("</row>");
        }
        let sheet =
            format!(r#"{head}<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>"#);
        entries.push((format!("xl/worksheets/sheet{at}.xml"), sheet.into_bytes()));
    }
    let mut add = |name: &str, text: String| entries.push((name.to_owned(), text.into_bytes()));
    add(
        "[Content_Types].xml",
        format!(
            r#"{head}<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>{types}</Types>"#
        ),
    );
    add(
        "_rels/.rels",
        format!(
            r#"{head}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
        ),
    );
    add(
        "xl/_rels/workbook.xml.rels",
        format!(r#"{head}<Relationships xmlns="{package}/relationships">{links}</Relationships>"#),
    );
    add(
        "xl/workbook.xml",
        format!(
            r#"{head}<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{list}</sheets></workbook>"#
        ),
    );
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
