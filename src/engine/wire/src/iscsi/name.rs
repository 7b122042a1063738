//! iSCSI names (RFC 7143 section 4.2.7) and the initiator's session id (section 11.12.5).

use super::Bhs;

/// The longest name in bytes (section 4.2.7.1).
pub const NAME_MAX: usize = 223;

/// Whether `name` is an iSCSI name: `iqn.`, `eui.` or `naa.` and the characters that the RFC allows. Names are
/// compared byte by byte; folding case is the work of whoever configures an initiator (section 4.2.7.2).
pub fn is_valid(name: &str) -> bool {
    if name.len() > NAME_MAX {
        return false;
    }
    let hex = |text: &str, digits: &[usize]| {
        digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match name.as_bytes().first_chunk::<4>() {
        Some(b"eui.") => hex(&name[4..], &[16]),
        Some(b"naa.") => hex(&name[4..], &[16, 32]),
        Some(b"iqn.") => {
            let rest = &name[4..];
            !rest.is_empty()
                && rest.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | ':' | '_'))
        }
        _ => false,
    }
}

/// The initiator's part of a session id: with InitiatorName and the target port group it names a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Isid(pub [u8; 6]);

impl Isid {
    /// An ISID of the random kind (type 10b): 24 random bits tell processes apart, the qualifier their
    /// sessions, so one process can have 65,536 sessions.
    pub fn random(seed: [u8; 3], qualifier: u16) -> Self {
        let [high, low] = qualifier.to_be_bytes();
        Self([0x80, seed[0], seed[1], seed[2], high, low])
    }

    pub(super) fn parse(bhs: &Bhs) -> Self {
        Self([bhs[8], bhs[9], bhs[10], bhs[11], bhs[12], bhs[13]])
    }
}

impl std::fmt::Display for Isid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc7143_4_2_7_names() {
        for name in [
            "iqn.2001-04.com.example:storage:diskarrays-sn-a8675309",
            "iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-test",
            "eui.02004567A425678D",
            "naa.52004567BA64678D",
            "naa.62004567BA64678D0123456789ABCDEF",
        ] {
            assert!(is_valid(name), "{name}");
        }
        for name in ["", "iqn.", "iqn.a b", "iqn.a,b", "eui.12", "naa.xyz", "host1", "iqn.a\nb"] {
            assert!(!is_valid(name), "{name}");
        }
        assert!(!is_valid(&format!("iqn.{}", "a".repeat(220))));
        assert!(is_valid(&format!("iqn.{}", "a".repeat(219))));
    }

    #[test]
    fn rfc7143_11_12_5_random_isids_differ_past_256_sessions() {
        let ids: std::collections::HashSet<_> =
            (0..1000).map(|qualifier| Isid::random([1, 2, 3], qualifier)).collect();
        assert_eq!(ids.len(), 1000);
        assert_eq!(Isid::random([1, 2, 3], 0x0405).to_string(), "800102030405");
    }
}
