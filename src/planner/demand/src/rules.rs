//! The rules file: classes with their numbers, and rules that put VMs into them.
//!
//! The grammar is explained at the head of `data/catalog/classes.toml`, which is compiled in. The
//! user's text has the same grammar, is checked in the same way, and comes first.

use plimsoll_units::EvidenceGrade;
use serde::Deserialize;

use crate::error::{Error, rules};

const BUILT_IN: &str = include_str!("../../../../data/catalog/classes.toml");

/// The built-in rules, to show or to edit.
#[must_use]
pub fn rules_text() -> &'static str {
    BUILT_IN
}

/// Numbers of a class, complete and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassNumbers {
    pub id: String,
    pub name: String,
    /// Planning peak of one VM, IOPS.
    pub iops: f64,
    /// Planning peak of one VM, MiB/s.
    pub mibps: f64,
    pub average_of_peak: f64,
    pub shape: f64,
    /// `None`: the site's.
    pub correlation: Option<f64>,
    pub read_fraction: f64,
    pub block_kib: f64,
    pub stream_block_kib: f64,
    pub source: String,
    pub grade: EvidenceGrade,
}

/// A checked set of rules.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleSet {
    pub classes: Vec<ClassNumbers>,
    /// The user's first; the last one matches every VM.
    pub rules: Vec<Rule>,
    pub separate: Vec<Separate>,
}

/// One rule: conditions and the class they lead to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// Index into [`RuleSet::classes`].
    pub class: usize,
    pub conditions: Conditions,
    pub why: String,
}

/// Conditions as written; empty lists and `None` do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RuleText {
    class: String,
    why: Option<String>,
    name: Vec<String>,
    word: Vec<String>,
    os: Vec<String>,
    datastore: Vec<String>,
    attribute: Option<Attribute>,
    min_tier_iops_per_gb: Option<f64>,
    max_tier_iops_per_gb: Option<f64>,
    min_cpus: Option<f64>,
    max_cpus: Option<f64>,
    min_memory_gib: Option<f64>,
    max_memory_gib: Option<f64>,
    min_disk_gib: Option<f64>,
    max_disk_gib: Option<f64>,
}

/// Conditions of a rule. `name` and `word` together are one condition: either may match.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conditions {
    pub name: Vec<String>,
    pub word: Vec<String>,
    pub os: Vec<String>,
    pub datastore: Vec<String>,
    pub attribute: Option<Attribute>,
    pub tier_iops_per_gb: Range,
    pub cpus: Range,
    pub memory_gib: Range,
    pub disk_gib: Range,
}

/// A closed range; an open end does not restrict. An unknown value is in no restricted range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Range {
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl Range {
    pub fn holds(self, value: impl FnOnce() -> Option<f64>) -> bool {
        if self.min.is_none() && self.max.is_none() {
            return true;
        }
        value().is_some_and(|value| {
            self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
        })
    }
}

/// A custom attribute or tag with patterns for its value.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attribute {
    pub key: String,
    pub value: Vec<String>,
}

/// VMs that must not share a datastore: those whose names match and differ only in the number at
/// the end.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Separate {
    /// Patterns for the name.
    pub name: Vec<String>,
    /// Reason, shown.
    #[serde(default)]
    pub why: String,
}

/// The whole file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RulesText {
    #[serde(rename = "read")]
    _read: Option<String>,
    class: Vec<ClassText>,
    rule: Vec<RuleText>,
    separate: Vec<Separate>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ClassText {
    id: String,
    name: Option<String>,
    iops: Option<f64>,
    mibps: Option<f64>,
    average_of_peak: Option<f64>,
    shape: Option<f64>,
    correlation: Option<f64>,
    read_fraction: Option<f64>,
    block_kib: Option<f64>,
    stream_block_kib: Option<f64>,
    source: Option<String>,
    grade: Option<EvidenceGrade>,
}

/// The built-in rules with the user's text, if any, before them.
pub(crate) fn load(user: Option<&str>) -> Result<RuleSet, Error> {
    let mut set = RuleSet { classes: Vec::new(), rules: Vec::new(), separate: Vec::new() };
    let built_in: RulesText = toml::from_str(BUILT_IN)?;
    let user: RulesText = user.map(toml::from_str).transpose()?.unwrap_or_default();
    for text in built_in.class {
        set.classes.push(new_class(text)?);
    }
    for text in user.class {
        match set.classes.iter_mut().find(|class| class.id == text.id) {
            Some(class) => change_class(class, text)?,
            None => set.classes.push(new_class(text)?),
        }
    }
    for (index, text) in user.rule.into_iter().enumerate() {
        let rule = check_rule(text, index, &set.classes)?;
        set.rules.push(rule);
    }
    for (index, text) in built_in.rule.into_iter().enumerate() {
        let rule = check_rule(text, index, &set.classes)?;
        set.rules.push(rule);
    }
    for (index, separate) in user.separate.into_iter().chain(built_in.separate).enumerate() {
        if separate.name.is_empty() {
            return Err(rules(format!("separate {}", index + 1), "name has no pattern"));
        }
        set.separate.push(separate);
    }
    Ok(set)
}

fn new_class(text: ClassText) -> Result<ClassNumbers, Error> {
    let at = format!("class `{}`", text.id);
    if text.id.is_empty() {
        return Err(rules("a class", "id is missing"));
    }
    let needed = |value: Option<f64>, name: &str| {
        value.ok_or_else(|| {
            rules(&at, format!("{name} is missing; a new class states iops and mibps of one VM"))
        })
    };
    let class = ClassNumbers {
        name: text.name.unwrap_or_else(|| text.id.clone()),
        iops: needed(text.iops, "iops")?,
        mibps: needed(text.mibps, "mibps")?,
        average_of_peak: text.average_of_peak.unwrap_or(0.7),
        shape: text.shape.unwrap_or(1.0),
        correlation: text.correlation,
        read_fraction: text.read_fraction.unwrap_or(0.7),
        block_kib: text.block_kib.unwrap_or(8.0),
        stream_block_kib: text.stream_block_kib.unwrap_or(64.0),
        source: text.source.unwrap_or_else(|| "your rules".to_owned()),
        grade: text.grade.unwrap_or(EvidenceGrade::D),
        id: text.id,
    };
    check_class(&class)?;
    Ok(class)
}

/// Lays the fields given over a class. Changed loads without a source or grade become "your
/// rules", grade D: the published source no longer stands behind them.
fn change_class(class: &mut ClassNumbers, text: ClassText) -> Result<(), Error> {
    if text.iops.is_some() || text.mibps.is_some() {
        class.source = "your rules".to_owned();
        class.grade = EvidenceGrade::D;
    }
    set(&mut class.name, text.name);
    set(&mut class.iops, text.iops);
    set(&mut class.mibps, text.mibps);
    set(&mut class.average_of_peak, text.average_of_peak);
    set(&mut class.shape, text.shape);
    set(&mut class.read_fraction, text.read_fraction);
    set(&mut class.block_kib, text.block_kib);
    set(&mut class.stream_block_kib, text.stream_block_kib);
    set(&mut class.source, text.source);
    set(&mut class.grade, text.grade);
    class.correlation = text.correlation.or(class.correlation);
    check_class(class)
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn check_class(class: &ClassNumbers) -> Result<(), Error> {
    // Below 0.26 no lognormal has that average under its 95th percentile: exp(-1.645^2 / 2).
    let fields = [
        ("iops", class.iops, 0.0, 1e7),
        ("mibps", class.mibps, 0.0, 1e6),
        ("average_of_peak", class.average_of_peak, 0.26, 1.0),
        ("shape", class.shape, 0.0, 3.0),
        ("correlation", class.correlation.unwrap_or(0.0), 0.0, 1.0),
        ("read_fraction", class.read_fraction, 0.0, 1.0),
        ("block_kib", class.block_kib, 0.5, 16_384.0),
        ("stream_block_kib", class.stream_block_kib, 0.5, 16_384.0),
    ];
    for (name, value, min, max) in fields {
        if !(min..=max).contains(&value) {
            return Err(rules(
                format!("class `{}`", class.id),
                format!("{name} is {value}, must be from {min} to {max}"),
            ));
        }
    }
    Ok(())
}

fn check_rule(text: RuleText, index: usize, classes: &[ClassNumbers]) -> Result<Rule, Error> {
    let at = format!("rule {} (class `{}`)", index + 1, text.class);
    let Some(class) = classes.iter().position(|class| class.id == text.class) else {
        let known: Vec<&str> = classes.iter().map(|class| class.id.as_str()).collect();
        return Err(rules(at, format!("no such class; there are {}", known.join(", "))));
    };
    let range = |min: Option<f64>, max: Option<f64>, name: &str| {
        let ordered = min.zip(max).is_none_or(|(min, max)| min <= max);
        let finite = [min, max].into_iter().flatten().all(f64::is_finite);
        if ordered && finite {
            Ok(Range { min, max })
        } else {
            Err(rules(&at, format!("min_{name} and max_{name} must be numbers in that order")))
        }
    };
    if text.attribute.as_ref().is_some_and(|attribute| attribute.value.is_empty()) {
        return Err(rules(&at, "attribute has no value pattern; write value = [\"*\"] for any"));
    }
    if let Some(word) = text.word.iter().find(|word| !word.chars().all(char::is_alphabetic)) {
        let wrong = format!("word `{word}` holds a sign or digit; names are split there: use name");
        return Err(rules(&at, wrong));
    }
    let conditions = Conditions {
        tier_iops_per_gb: range(
            text.min_tier_iops_per_gb,
            text.max_tier_iops_per_gb,
            "tier_iops_per_gb",
        )?,
        cpus: range(text.min_cpus, text.max_cpus, "cpus")?,
        memory_gib: range(text.min_memory_gib, text.max_memory_gib, "memory_gib")?,
        disk_gib: range(text.min_disk_gib, text.max_disk_gib, "disk_gib")?,
        name: text.name,
        word: text.word,
        os: text.os,
        datastore: text.datastore,
        attribute: text.attribute,
    };
    let why = text.why.unwrap_or_else(|| format!("your rule {}", index + 1));
    Ok(Rule { class, conditions, why })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn built_in_rules_are_valid_and_end_with_a_rule_for_every_vm() {
        let set = load(None).unwrap();
        assert_eq!(set.rules.last().unwrap().conditions, Conditions::default());
        assert!(set.classes.iter().all(|class| !class.source.is_empty()));
    }

    #[test]
    fn user_text_changes_only_the_fields_it_names() {
        let set = load(Some("[[class]]\nid = \"web\"\niops = 320")).unwrap();
        let web = set.classes.iter().find(|class| class.id == "web").unwrap();
        assert_eq!((web.iops, web.mibps), (320.0, 1.95));
        assert_eq!((web.source.as_str(), web.grade), ("your rules", EvidenceGrade::D));
    }

    #[test]
    fn the_built_in_text_can_be_handed_back_as_rules() {
        assert_eq!(load(Some(rules_text())).unwrap().classes, load(None).unwrap().classes);
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            (
                "[[rule]]\nclass = \"webb\"",
                "class rules, rule 1 (class `webb`): no such class; there are generic,",
            ),
            ("[[class]]\nid = \"x\"\niops = 3", "class rules, class `x`: mibps is missing"),
            (
                "[[class]]\nid = \"web\"\nshape = 9",
                "class rules, class `web`: shape is 9, must be from 0 to 3",
            ),
            (
                "[[class]]\nid = \"web\"\niops = nan",
                "class rules, class `web`: iops is NaN, must be",
            ),
            ("[[rule]]\nclass = \"web\"\nnames = [\"x\"]", "unknown field `names`"),
            (
                "[[rule]]\nclass = \"web\"\nmin_cpus = 4\nmax_cpus = 2",
                "min_cpus and max_cpus must be",
            ),
            ("[[rule]]\nclass = \"web\"\nword = [\"dc01\"]", "word `dc01` holds a sign or digit"),
            ("[[separate]]\nname = []", "separate 1: name has no pattern"),
            ("[[rule]", "reading the class rules"),
        ] {
            let error = load(Some(text)).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?} gave {error:?}");
        }
    }
}
