//! Cards, diffs, exchange between sites, families beside each other.
#![allow(clippy::unwrap_used)]

use plimsoll_model::{
    CeilingEvidence, FitOptions, FitReport, Model, ModelDiff, Quantity, Resource, SOLE_LEVERAGE,
    fit, fit_model, read_points,
};
use plimsoll_units::EvidenceGrade;
use std::path::Path;

fn report(platform: &str) -> FitReport {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let text = std::fs::read(root.join("data/reference/scaling_points.csv")).unwrap();
    let options = FitOptions { platform: Some(platform.to_owned()), ..FitOptions::default() };
    fit(&read_points(&text).unwrap(), &options).unwrap()
}

#[test]
fn card_names_the_points_that_alone_identify_a_ceiling() {
    let report = report("AVS-AV36+ANF");
    let card = report.card().unwrap();
    let row = |value: f64| report.points.iter().find(|p| p.published == value).unwrap().row;
    let of = |resource, unit: &str| {
        card.ceilings.iter().find(|c| c.resource == resource && c.unit == unit).unwrap()
    };
    // "Over 530,000" on 4 x 4 is all that is known of the pool.
    let pool = of(Resource::Pool, "IOPS");
    assert_eq!(pool.evidence, CeilingEvidence::AtLeast);
    assert_eq!(pool.sole_point, Some(row(530_000.0)), "{pool:?}");
    // Flows are touched by many points, none of which is alone.
    let flow = of(Resource::Flow, "IOPS");
    assert_eq!((flow.evidence, flow.sole_point), (CeilingEvidence::Measured, None));
    assert!(flow.touched_by.len() >= 4, "{flow:?}");
    for residual in &card.residuals {
        let point = report.points.iter().find(|p| p.row == residual.row).unwrap();
        assert!((residual.residual_ln - (point.published / point.fitted).ln()).abs() < 1e-12);
        assert!((0.0..=1.0).contains(&residual.leverage) && residual.standardised.is_finite());
        let sum: f64 = point.shares.iter().map(|share| share.1).sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
    // Leverages add up to the parameters that the points pay for, 13 at most.
    let sum: f64 = card.residuals.iter().map(|r| r.leverage).sum();
    assert!((5.0..13.0).contains(&sum), "{sum}");
    assert!(card.residuals.iter().any(|r| r.leverage >= SOLE_LEVERAGE));
    assert_eq!(card.points_sha256, report.model.points_sha256);
    assert_eq!((card.points_sha256.len(), card.model_sha256.len()), (64, 64));
    assert_eq!(card.hulls.len(), 2);
    assert_eq!(card.kept_out.len(), 1);
    assert!(serde_json::to_string(&card).unwrap().contains("\"sole_point\""));
}

#[test]
fn a_point_that_stands_alone_at_its_ceiling_is_named() {
    // Three points on one flow and one, by itself, where the pool binds.
    let text = "platform,hosts,datastores,flows,block_kib,pattern,metric,value,unit\n\
        p,1,1,1,8,random,iops,10000,IOPS\np,1,1,1,8,random,iops,10100,IOPS\n\
        p,1,1,2,8,random,iops,19900,IOPS\np,1,1,64,8,random,iops,100000,IOPS\n";
    let report = fit(&read_points(text.as_bytes()).unwrap(), &FitOptions::default()).unwrap();
    let card = report.card().unwrap();
    let of = |resource| card.ceilings.iter().find(|c| c.resource == resource).unwrap();
    assert_eq!(of(Resource::Pool).sole_point, Some(5));
    assert_eq!(of(Resource::Flow).sole_point, None);
    assert_eq!(of(Resource::Flow).touched_by, [2, 3, 4]);
}

#[test]
fn all_families_stand_beside_each_other_on_a_grid() {
    let report = report("CubeFS 25GbE-class gen2");
    let names: Vec<&str> = report.families.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "smooth bottleneck (p-norm)",
            "hard minimum",
            "linear latency (p = 1)",
            "mean value analysis",
            "universal scalability law",
            "Amdahl",
            "power law"
        ]
    );
    let of = |name: &str| report.families.iter().find(|f| f.name == name).unwrap();
    // An independent fit of both editions' 127 points: 8.1 % and 13.3 % for this variant.
    let own = of("mean value analysis");
    assert!(own.median_pct < 10.0 && own.mean_pct < 15.0, "{own:?}");
    assert!(of("universal scalability law").mean_pct > own.mean_pct);
}

#[test]
fn a_diff_tells_what_moved_by_more_than_both_are_unsure() {
    let before = Model::built_in("azure-vmware-solution-av36-anf").unwrap();
    let same = ModelDiff::between(&before, &before);
    assert!(same.same_points && same.unmatched.is_empty());
    assert!(same.ceilings.iter().all(|c| !c.differs && c.ratio == Some(1.0)));
    let mut after = before.clone();
    after.id = "later".to_owned();
    after.points_sha256 = "0".repeat(64);
    let place = after.series[0].ceilings.iter().position(|c| c.resource == Resource::Flow).unwrap();
    after.series[0].ceilings[place].value *= 2.0;
    after.series[0].ceilings.retain(|c| c.resource != Resource::Vm);
    after.series.pop();
    let diff = ModelDiff::between(&before, &after);
    let of = |resource| diff.ceilings.iter().find(|c| c.resource == resource).unwrap();
    let flow = of(Resource::Flow);
    let own = &before.series[0].ceilings[place];
    let sd = 2.0_f64.sqrt() * own.sd_ln.hypot(own.discrepancy_sd_ln);
    assert!(flow.differs && (flow.deviations.unwrap() - 2.0_f64.ln() / sd).abs() < 1e-9);
    assert_eq!((of(Resource::Vm).after, of(Resource::Vm).differs), (None, true));
    assert!(!of(Resource::Host).differs);
    assert_eq!(diff.unmatched.len(), 1);
    assert!(!diff.same_points);
}

#[test]
fn a_model_travels_between_sites_and_arrives_as_a_sibling() {
    let mut model = Model::built_in("cubefs-25gbe-gen2").unwrap();
    model.grade = EvidenceGrade::A;
    let text = model.export("north", "2026-05-01T12:00:00Z").unwrap();
    let (arrived, envelope) = Model::import(&text).unwrap();
    assert_eq!(envelope.site, "north");
    assert_eq!((arrived.grade, &arrived.series), (EvidenceGrade::B, &model.series));
    assert!(arrived.notes.last().unwrap().contains("north"));
    let value = model.series[0].ceilings[0].value.to_string();
    let forged = text.replacen(&value, &format!("{}9", value.trim_end_matches(".0")), 1);
    assert_ne!(forged, text);
    assert!(Model::import(&forged).unwrap_err().to_string().contains("hash differs"));
    let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert!(Model::import(&later).unwrap_err().to_string().contains("version 2"));
}

#[test]
fn beliefs_from_elsewhere_guide_a_fit_of_few_points() {
    let sibling = Model::built_in("azure-vmware-solution-av36-anf").unwrap();
    let table = sibling.as_beliefs("ours");
    assert!(table.rows.iter().all(|row| row.sd_ln >= 0.3 && row.source.contains("Sibling")));
    let text = "platform,hosts,datastores,flows,block_kib,pattern,read_pct,statistic,metric,value,unit\n\
        ours,1,1,1,8,random,mix,mean,iops,80000,IOPS\nours,1,2,2,8,random,mix,mean,iops,150000,IOPS\n";
    let options = FitOptions { priors: Some(table), ..FitOptions::default() };
    let model = fit_model(&read_points(text.as_bytes()).unwrap(), &options).unwrap();
    let of = |model: &Model, resource| model.ceiling(Quantity::Iops, resource).unwrap().clone();
    // What was measured moves, what was not stays where the sibling has it.
    assert!(of(&model, Resource::Flow).value > of(&sibling, Resource::Flow).value);
    let pool = of(&model, Resource::Pool).value / of(&sibling, Resource::Pool).value;
    assert!((pool - 1.0).abs() < 0.1, "{pool}");
}
