//! Words for limits, counts and lists; always the same word for the same thing.

use jiff::civil::Date;
use plimsoll_inventory::{DatastoreKind, Exclusion, FindingSeverity, UsedSource};
use plimsoll_model::Resource;

use crate::number;

/// A limit in a legend or cell.
#[must_use]
pub fn limit(resource: Resource) -> &'static str {
    match resource {
        Resource::Flow => "flow",
        Resource::Host => "host",
        Resource::Volume => "volume",
        Resource::Vm => "VM",
        Resource::Pool => "pool",
        Resource::Concurrency => "concurrency",
        Resource::Tier => "tier cap",
        Resource::Gateway => "gateway",
    }
}

/// A limit in a sentence.
#[must_use]
pub fn the_limit(resource: Resource) -> &'static str {
    match resource {
        Resource::Flow => "the flow, the TCP connection between a host and a datastore",
        Resource::Host => "the hosts’ network port and storage stack",
        Resource::Volume => "the volume behind each datastore",
        Resource::Vm => "the VM’s own adapter and queue",
        Resource::Pool => "the capacity pool",
        Resource::Concurrency => "the number of I/Os in flight",
        Resource::Tier => "the service tier’s cap",
        Resource::Gateway => "the gateway between hosts and storage",
    }
}

/// Severity of a finding.
#[must_use]
pub fn severity(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Stops => "Stops",
        FindingSeverity::Care => "Care",
        FindingSeverity::Note => "Note",
        FindingSeverity::Passed => "Passed",
    }
}

/// Why a VM is left out.
#[must_use]
pub fn exclusion(reason: Exclusion) -> &'static str {
    match reason {
        Exclusion::Template => "Templates",
        Exclusion::SrmPlaceholder => "SRM placeholders",
        Exclusion::Vcls => "vCLS",
        Exclusion::PoweredOff => "Powered off",
        Exclusion::Orphaned => "Not connected",
    }
}

/// Kind of a datastore.
#[must_use]
pub fn datastore_kind(kind: DatastoreKind) -> &'static str {
    match kind {
        DatastoreKind::Vmfs => "VMFS",
        DatastoreKind::Nfs => "NFS 3",
        DatastoreKind::Nfs41 => "NFS 4.1",
        DatastoreKind::Vsan => "vSAN",
        DatastoreKind::Vvol => "vVol",
        DatastoreKind::Other => "other",
    }
}

/// Where a VM's used space comes from.
#[must_use]
pub fn used_source(source: UsedSource) -> &'static str {
    match source {
        UsedSource::InUse => "vInfo, In Use",
        UsedSource::PartitionConsumed => "vPartition, Consumed",
        UsedSource::DiskCapacity => "vDisk, Capacity",
        UsedSource::Provisioned => "vInfo, Provisioned",
        UsedSource::Unknown => "unknown",
    }
}

/// A small count in words, larger ones in digits.
#[must_use]
pub fn count(value: u64) -> String {
    const SMALL: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    usize::try_from(value)
        .ok()
        .and_then(|index| SMALL.get(index))
        .map_or_else(|| number::count(value), |word| (*word).to_owned())
}

/// A count with its noun: `one datastore`, `four datastores`, `231 VMs`.
#[must_use]
pub fn counted(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

/// An ordinal in words up to twelve: `a fifth`, `an eighth`, `a 13th`.
#[must_use]
pub fn another(value: u64) -> String {
    const SMALL: [&str; 13] = [
        "a first",
        "a first",
        "a second",
        "a third",
        "a fourth",
        "a fifth",
        "a sixth",
        "a seventh",
        "an eighth",
        "a ninth",
        "a tenth",
        "an eleventh",
        "a twelfth",
    ];
    if let Some(word) = usize::try_from(value).ok().and_then(|index| SMALL.get(index)) {
        return (*word).to_owned();
    }
    let suffix = match (value % 100, value % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    let digits = number::count(value);
    // Said "eighteenth", "eighty-first", "eight hundredth": the only ones that begin with a vowel.
    let article = if value == 18 || digits.starts_with('8') { "an" } else { "a" };
    format!("{article} {digits}{suffix}")
}

/// First letter in upper case.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [head @ .., last] => {
            let head: Vec<_> = head.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", head.join(", "), last.as_ref())
        }
    }
}

/// A date with the month in words.
#[must_use]
pub fn date(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

/// An ISO date of the catalogue with the month in words; anything else as it is.
#[must_use]
pub fn iso_date(text: &str) -> String {
    text.parse::<Date>().map_or_else(|_| text.to_owned(), date)
}

/// Foreign text fit for a page: no control characters, at most `longest` characters.
#[must_use]
pub fn foreign(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for (position, letter) in text.chars().enumerate() {
        if position >= longest {
            out.push('…');
            break;
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_lists() {
        assert_eq!(counted(1, "datastore", "datastores"), "one datastore");
        assert_eq!(counted(231, "VM", "VMs"), "231 VMs");
        assert_eq!(another(5), "a fifth");
        assert_eq!(another(22), "a 22nd");
        assert_eq!(another(18), "an 18th");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(sentence("four"), "Four");
    }

    #[test]
    fn foreign_text_loses_controls_and_length() {
        assert_eq!(foreign("a\u{0}b\nc", 10), "a b c");
        assert_eq!(foreign("abcdef", 3), "abc…");
    }

    #[test]
    fn dates_have_the_month_in_words() {
        assert_eq!(iso_date("2026-01-29"), "29 January 2026");
        assert_eq!(iso_date("early 2026"), "early 2026");
    }
}
