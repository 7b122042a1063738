//! What the free text of an inventory says: paths, NFS addresses, versions, tier hints.

/// A path on a datastore: `[datastore] folder/file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatastorePath<'a> {
    pub datastore: &'a str,
    pub file: &'a str,
}

impl<'a> DatastorePath<'a> {
    /// Parses `[datastore] folder/file`; `None` for guest paths, device names and blanks.
    pub fn parse(text: &'a str) -> Option<Self> {
        let inside = text.trim_start().strip_prefix('[')?;
        // A datastore name may hold brackets itself: vSphere ends it with `] ` or the end.
        let end = inside.find("] ").or_else(|| inside.rfind(']'))?;
        let datastore = inside[..end].trim();
        (!datastore.is_empty()).then(|| Self { datastore, file: inside[end + 1..].trim() })
    }
}

/// Server and path of an NFS address: `server /path` as RVTools writes it, or `server:/path`.
/// The path is returned without its leading and trailing slashes.
pub(crate) fn nfs_address(address: &str) -> Option<(&str, &str)> {
    let address = address.trim();
    let (server, path) =
        address.split_once(char::is_whitespace).or_else(|| address.split_once(":/"))?;
    let server = server.trim().trim_end_matches(':');
    let path = path.trim().trim_matches('/');
    (!server.is_empty() && !path.is_empty()).then_some((server, path))
}

/// Whether an address is a device id that is the same wherever the device is seen.
/// `mpx.` ids are made from the adapter and repeat between hosts.
pub(crate) fn is_worldwide_device(address: &str) -> bool {
    ["naa.", "eui.", "t10.", "nguid."].iter().any(|prefix| {
        address.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    })
}

/// `8.0.2` out of `VMware ESXi 8.0.2 build-22380479`.
pub(crate) fn esx_version(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        let mut parts = word.split('.');
        parts.clone().count() >= 2
            && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// `22380479` out of `VMware ESXi 8.0.2 build-22380479`.
pub(crate) fn esx_build(text: &str) -> Option<&str> {
    let (_, build) = text.split_once("build-")?;
    let build = build.split(|c: char| !c.is_ascii_digit()).next()?;
    (!build.is_empty()).then_some(build)
}

/// Major and minor number of a version, comparable.
pub(crate) fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.trim().parse().ok()?;
    let minor = parts.next().map_or(Some(0), |part| part.trim().parse().ok())?;
    Some((major, minor))
}

/// vSphere Cluster Services VMs: `vCLS-<uuid>` and, before 7.0 U3, `vCLS (n)`.
pub(crate) fn is_vcls(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("vCLS") else { return false };
    let id = rest.strip_prefix('-').is_some_and(|id| {
        id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
    });
    let number = rest
        .trim_start()
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    id || number
}

/// Words in a datastore name that often stand for a service tier, with how they are shown.
const TIER_WORDS: [(&str, &str); 19] = [
    ("platinum", "platinum"),
    ("gold", "gold"),
    ("silver", "silver"),
    ("bronze", "bronze"),
    ("ultra", "ultra"),
    ("premium", "premium"),
    ("standard", "standard"),
    ("nvme", "NVMe"),
    ("flash", "flash"),
    ("ssd", "SSD"),
    ("nlsas", "NL-SAS"),
    ("sas", "SAS"),
    ("sata", "SATA"),
    ("hdd", "HDD"),
    ("tier0", "tier 0"),
    ("tier1", "tier 1"),
    ("tier2", "tier 2"),
    ("tier3", "tier 3"),
    ("archive", "archive"),
];

/// A tier hint read from a datastore name: `2 IOPS/GB` out of `VOLUME15-2IOPS` (a service sold by
/// IOPS per GB writes it so), `gold` out of `gold_lun_01`. A suggestion to confirm, never a fact.
pub(crate) fn tier_hint(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .filter(|word| !word.is_empty())
        .collect();
    for (index, word) in words.iter().enumerate() {
        let number = match word.strip_suffix("iops") {
            Some("") => index.checked_sub(1).map(|before| words[before]),
            other => other,
        };
        if let Some(number) = number
            && number.parse::<f64>().is_ok_and(|iops| iops > 0.0 && iops <= 100.0)
        {
            return Some(format!("{number} IOPS/GB"));
        }
    }
    for (index, word) in words.iter().enumerate() {
        if *word == "tier"
            && let Some(number) = words.get(index + 1)
            && number.len() == 1
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(format!("tier {number}"));
        }
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if let Some((_, shown)) = TIER_WORDS.iter().find(|(tier, _)| tier == word || *tier == bare)
        {
            return Some((*shown).to_owned());
        }
    }
    None
}

/// A dotted IPv4 address as a number.
pub(crate) fn ipv4(text: &str) -> Option<u32> {
    text.trim().parse::<std::net::Ipv4Addr>().ok().map(u32::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn datastore_paths() {
        let path = DatastorePath::parse("[VOLUME 15-2IOPS] db/db_1.vmdk").unwrap();
        assert_eq!((path.datastore, path.file), ("VOLUME 15-2IOPS", "db/db_1.vmdk"));
        assert_eq!(DatastorePath::parse("[a [old]] x/y.vmdk").unwrap().datastore, "a [old]");
        assert_eq!(DatastorePath::parse("[only]").unwrap().datastore, "only");
        assert_eq!(DatastorePath::parse("/, /boot"), None);
        assert_eq!(DatastorePath::parse("[] x.vmdk"), None);
        assert_eq!(DatastorePath::parse("["), None);
    }

    #[test]
    fn nfs_addresses() {
        assert_eq!(nfs_address("10.0.0.5 /vol/ds1"), Some(("10.0.0.5", "vol/ds1")));
        assert_eq!(nfs_address("10.0.0.5 vol/ds1/"), Some(("10.0.0.5", "vol/ds1")));
        assert_eq!(nfs_address("nas.example.org:/vol"), Some(("nas.example.org", "vol")));
        assert_eq!(nfs_address("fd00::5 /vol"), Some(("fd00::5", "vol")));
        assert_eq!(nfs_address("naa.600a"), None);
        assert_eq!(nfs_address("server /"), None);
    }

    #[test]
    fn versions() {
        let text = "VMware ESXi 8.0.2 build-22380479";
        assert_eq!(esx_version(text), Some("8.0.2"));
        assert_eq!(esx_build(text), Some("22380479"));
        assert_eq!(esx_version("8.0.0"), Some("8.0.0"));
        assert_eq!(esx_version("VMware ESXi"), None);
        assert_eq!(major_minor("6.7.0"), Some((6, 7)));
        assert!(major_minor("10.0").unwrap() > major_minor("9.1").unwrap());
    }

    #[test]
    fn cluster_service_vms() {
        assert!(is_vcls("vCLS-4f2c8a10-11aa-4bcd-9e0f-0123456789ab"));
        assert!(is_vcls("vCLS (3)"));
        assert!(!is_vcls("vCLS-reporting-01"));
        assert!(!is_vcls("vcls"));
        assert!(!is_vcls("web-01"));
    }

    #[test]
    fn tier_hints() {
        assert_eq!(tier_hint("VOLUME15-2IOPS").as_deref(), Some("2 IOPS/GB"));
        assert_eq!(tier_hint("vol_0.25_IOPS").as_deref(), Some("0.25 IOPS/GB"));
        assert_eq!(tier_hint("PRD-Gold-01").as_deref(), Some("gold"));
        assert_eq!(tier_hint("lun_ssd02").as_deref(), Some("SSD"));
        assert_eq!(tier_hint("Tier-2 general").as_deref(), Some("tier 2"));
        assert_eq!(tier_hint("passage-goldfish"), None);
        assert_eq!(tier_hint("datastore1"), None);
    }
}
