//! Column headers: the names each tab's columns go by, from `data/catalog/header_aliases.toml`.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::cell::is_blank_char;
use crate::tab::Tab;

/// What a header stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A header of 4.x, by its place in [`TabHeaders::order`]; true when spelled as a DB name.
    Known { place: usize, db_name: bool },
    /// Known from other versions and not used.
    Extra,
    /// Never read.
    Dropped,
    /// Not a header of the tab.
    Unknown,
}

/// The headers of one tab.
#[derive(Debug, Default)]
pub(crate) struct TabHeaders {
    /// Canonical headers in sheet order.
    pub(crate) order: Vec<String>,
    /// Accepted spellings by canonical header.
    pub(crate) spellings: BTreeMap<String, Vec<String>>,
    meanings: HashMap<String, Meaning>,
    /// Custom attributes are spliced in behind this place.
    splice: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    common: BTreeMap<String, Vec<String>>,
    tabs: BTreeMap<String, FileTab>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTab {
    order: Vec<String>,
    #[serde(default)]
    extra: Vec<String>,
    #[serde(default)]
    drop: Vec<String>,
    #[serde(default)]
    aliases: BTreeMap<String, Vec<String>>,
}

const TEXT: &str = include_str!("../../../../data/catalog/header_aliases.toml");

static HEADERS: LazyLock<HashMap<Tab, TabHeaders>> = LazyLock::new(|| {
    // The file is part of the build and a test reads it: a fault cannot reach a user.
    let mut file =
        toml::from_str(TEXT).unwrap_or(File { common: BTreeMap::new(), tabs: BTreeMap::new() });
    let common = std::mem::take(&mut file.common);
    Tab::ALL
        .into_iter()
        .filter_map(|tab| Some((tab, TabHeaders::new(tab, file.tabs.remove(tab.name())?, &common))))
        .collect()
});

/// The headers of a tab.
pub(crate) fn of(tab: Tab) -> &'static TabHeaders {
    static NONE: LazyLock<TabHeaders> = LazyLock::new(TabHeaders::default);
    HEADERS.get(&tab).unwrap_or(&NONE)
}

/// Trimmed, case folded, runs of blanks collapsed; `#` and `%` stay.
pub(crate) fn normalise(header: &str) -> String {
    let mut out = String::with_capacity(header.len());
    for word in header.split(is_blank_char).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// Letters and digits only, as the internal names are made.
fn squeeze(header: &str) -> String {
    header.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl TabHeaders {
    fn new(tab: Tab, file: FileTab, common: &BTreeMap<String, Vec<String>>) -> Self {
        let mut headers = Self { order: file.order, ..Self::default() };
        let db_prefix = squeeze(tab.name());
        let is_db_name = |spelling: &str| squeeze(spelling).starts_with(&db_prefix);
        for header in file.extra {
            headers.meanings.insert(normalise(&header), Meaning::Extra);
        }
        for header in file.drop {
            headers.meanings.insert(format!("{db_prefix}{}", squeeze(&header)), Meaning::Dropped);
            headers.meanings.insert(normalise(&header), Meaning::Dropped);
        }
        for (place, header) in headers.order.iter().enumerate() {
            let db_name = match header.strip_prefix("# ") {
                Some(counted) => format!("{db_prefix}num{}", squeeze(counted)),
                None => format!("{db_prefix}{}", squeeze(header)),
            };
            headers.meanings.insert(db_name, Meaning::Known { place, db_name: true });
        }
        for (place, header) in headers.order.iter().enumerate() {
            let mut spellings = vec![header.clone()];
            for source in [&file.aliases, common] {
                spellings.extend(source.get(header).into_iter().flatten().cloned());
            }
            for spelling in &spellings {
                let meaning = Meaning::Known { place, db_name: is_db_name(spelling) };
                headers.meanings.insert(normalise(spelling), meaning);
            }
            headers.spellings.insert(header.clone(), spellings);
        }
        // A canonical header always means itself, whatever aliases say.
        for (place, header) in headers.order.iter().enumerate() {
            headers.meanings.insert(normalise(header), Meaning::Known { place, db_name: false });
        }
        let place_of = |name: &str| headers.order.iter().position(|header| header == name);
        headers.splice = place_of("Annotation").or_else(|| place_of("Object ID")).unwrap_or(0);
        headers
    }

    /// What a header stands for.
    pub(crate) fn meaning(&self, header: &str) -> Meaning {
        /// The longest known header has 38 characters; blanks and breaks may stretch it.
        const LONGEST: usize = 120;
        if header.len() > LONGEST {
            return Meaning::Unknown;
        }
        let key = normalise(header);
        if let Some(found) = self.meanings.get(&key) {
            return *found;
        }
        // Internal names: the tab's name, then the header without blanks and signs.
        if !key.contains(' ')
            && let Some(found) = self.meanings.get(&squeeze(&key))
            && matches!(found, Meaning::Known { db_name: true, .. } | Meaning::Dropped)
        {
            return *found;
        }
        Meaning::Unknown
    }

    /// Number of headers of the row that belong to this tab.
    pub(crate) fn score<'a>(&self, row: impl Iterator<Item = &'a str>) -> usize {
        row.filter(|header| !matches!(self.meaning(header), Meaning::Unknown)).count()
    }

    /// Canonical header and accepted spellings, for a message.
    pub(crate) fn accepted(&self, header: &str) -> String {
        self.spellings.get(header).map_or_else(|| header.to_owned(), |all| all.join(" | "))
    }

    /// Settles which of several columns with one meaning is RVTools' own: the one beside its
    /// neighbours of the known order; of equals the first for headers before the place where
    /// custom attributes are spliced in, and the last for those behind it.
    pub(crate) fn own_column(&self, place: usize, candidates: &[usize], row: &[Meaning]) -> usize {
        let is = |column: Option<usize>, wanted: Option<usize>| {
            let found = column.and_then(|column| row.get(column));
            match (found, wanted) {
                (Some(Meaning::Known { place, .. }), Some(wanted)) => *place == wanted,
                _ => false,
            }
        };
        let beside = |column: usize| {
            usize::from(is(column.checked_sub(1), place.checked_sub(1)))
                + usize::from(is(Some(column + 1), Some(place + 1)))
        };
        let best = candidates.iter().map(|column| beside(*column)).max().unwrap_or(0);
        let mut equals = candidates.iter().copied().filter(|column| beside(*column) == best);
        let own = if place <= self.splice { equals.next() } else { equals.next_back() };
        own.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(tab: Tab, header: &str) -> usize {
        of(tab).order.iter().position(|known| known == header).unwrap_or(usize::MAX)
    }

    #[test]
    fn the_data_file_is_whole() {
        let file: Result<File, _> = toml::from_str(TEXT);
        assert!(file.is_ok(), "{:?}", file.err());
        for tab in Tab::ALL {
            assert!(!of(tab).order.is_empty(), "{}", tab.name());
        }
        for (name, tab) in file.map(|file| file.tabs).unwrap_or_default() {
            for alias in tab.aliases.keys() {
                assert!(tab.order.contains(alias), "{name}: {alias}");
            }
        }
    }

    #[test]
    fn every_family_of_headers_means_the_same() {
        let headers = of(Tab::Info);
        let provisioned = place(Tab::Info, "Provisioned MiB");
        for spelling in
            ["Provisioned MiB", "provisioned mb", " Provisioned\n MB ", "vInfoProvisioned"]
        {
            assert!(
                matches!(headers.meaning(spelling), Meaning::Known { place, .. } if place == provisioned),
                "{spelling}"
            );
        }
        let datacenter = place(Tab::Info, "Datacenter");
        assert_eq!(
            headers.meaning("vInfoDataCenter"),
            Meaning::Known { place: datacenter, db_name: true }
        );
        assert_eq!(headers.meaning("Last Backup"), Meaning::Unknown);
        assert_eq!(of(Tab::Host).meaning("Assigned License(s)"), Meaning::Dropped);
    }

    #[test]
    fn hash_and_percent_tell_headers_apart() {
        let headers = of(Tab::Datastore);
        assert_ne!(headers.meaning("# Hosts"), headers.meaning("Hosts"));
        assert_ne!(headers.meaning("# VMs"), headers.meaning("# VMs total"));
        assert_eq!(headers.meaning("Free % "), headers.meaning("free %"));
    }

    #[test]
    fn a_custom_attribute_named_like_a_column_does_not_win() {
        let headers = of(Tab::Info);
        let row = |names: &[&str]| names.iter().map(|n| headers.meaning(n)).collect::<Vec<_>>();
        let datacenter = place(Tab::Info, "Datacenter");
        let plain = row(&["VM", "Annotation", "Datacenter", "Datacenter", "Cluster"]);
        assert_eq!(headers.own_column(datacenter, &[2, 3], &plain), 3);
        let apart = row(&["VM", "Annotation", "Datacenter", "Zone", "Datacenter", "Cluster"]);
        assert_eq!(headers.own_column(datacenter, &[2, 4], &apart), 4);
        let annotation = place(Tab::Info, "Annotation");
        let twice = row(&["Suspend directory", "Annotation", "Annotation", "Datacenter"]);
        assert_eq!(headers.own_column(annotation, &[1, 2], &twice), 1);
        let vm = row(&["VM", "Powerstate", "Annotation", "VM", "Datacenter"]);
        assert_eq!(headers.own_column(0, &[0, 3], &vm), 0);
    }
}
