//! What the reader already decided: addresses and names that the steps then hold instead of words in capitals.
//!
//! They end up in commands, so they are checked for what an address or a name can be.

use std::net::{IpAddr, Ipv4Addr};

/// Names and addresses; what is absent stays a word in capitals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Portal of the array: an address, or address and port.
    pub portal: Option<String>,
    /// Static address of the VMkernel port.
    pub address: Option<Ipv4Addr>,
    /// Its network mask.
    pub netmask: Option<Ipv4Addr>,
    /// VLAN of the port group.
    pub vlan: Option<u16>,
    /// Virtual switch to make.
    pub vswitch: Option<String>,
    /// Port group to make.
    pub port_group: Option<String>,
    /// VMkernel port to make.
    pub vmkernel: Option<String>,
    /// The iSER adapter, once it is known.
    pub adapter: Option<String>,
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {value:?} is not {wanted}")]
pub struct SettingError {
    /// Which.
    pub name: &'static str,
    /// As given.
    pub value: String,
    /// What was expected.
    pub wanted: &'static str,
}

impl Settings {
    /// Checks all of them.
    ///
    /// # Errors
    /// The first that cannot be.
    pub fn check(&self) -> Result<(), SettingError> {
        let refuse = |name, value: &dyn std::fmt::Display, wanted| {
            Err(SettingError { name, value: value.to_string(), wanted })
        };
        if let Some(portal) = &self.portal {
            parse_portal(portal)?;
        }
        if let Some(vlan) = self.vlan.filter(|vlan| *vlan > 4095) {
            return refuse("vlan", &vlan, "a VLAN from 0 to 4095");
        }
        if let Some(mask) = self.netmask
            && u32::from(mask).leading_ones() + u32::from(mask).trailing_zeros() != 32
        {
            return refuse("netmask", &mask, "a network mask such as 255.255.255.0");
        }
        if let (Some(address), Some(mask), Some(portal)) =
            (self.address, self.netmask, &self.portal)
            && let (IpAddr::V4(remote), _) = parse_portal(portal)?
        {
            let network = |address: Ipv4Addr| u32::from(address) & u32::from(mask);
            if network(address) != network(remote) {
                let wanted = "in the subnet of the portal: iSER wants one of its own";
                return refuse("address", &address, wanted);
            }
            if address == remote {
                return refuse("address", &address, "an address other than the portal's");
            }
        }
        for (name, value) in [
            ("vswitch", &self.vswitch),
            ("port_group", &self.port_group),
            ("vmkernel", &self.vmkernel),
            ("adapter", &self.adapter),
        ] {
            if let Some(value) = value
                && !is_name(value)
            {
                let wanted = "a name of letters, digits, and any of .:_- (at most 64)";
                return refuse(name, value, wanted);
            }
        }
        Ok(())
    }

    /// Address and port of the portal, as text; words in capitals when absent.
    pub(super) fn portal(&self) -> (String, String) {
        match self.portal.as_deref().map(parse_portal) {
            Some(Ok((address @ IpAddr::V4(_), port))) => {
                (address.to_string(), format!("{address}:{port}"))
            }
            Some(Ok((address @ IpAddr::V6(_), port))) => {
                (address.to_string(), format!("[{address}]:{port}"))
            }
            _ => ("PORTAL".to_owned(), "PORTAL:3260".to_owned()),
        }
    }
}

/// Whether it can stand in a command as it is.
pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:_-".contains(&byte))
        && !text.starts_with('-')
}

fn parse_portal(text: &str) -> Result<(IpAddr, u16), SettingError> {
    const PORT: u16 = 3260;
    text.parse::<std::net::SocketAddr>()
        .map(|portal| (portal.ip(), portal.port()))
        .or_else(|_| text.parse::<IpAddr>().map(|address| (address, PORT)))
        .map_err(|_| SettingError {
            name: "portal",
            value: text.to_owned(),
            wanted: "an address such as 10.10.1.2 or 10.10.1.2:3260",
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_stand_in_a_command_is_refused() {
        let with = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            settings.check()
        };
        assert!(with(|_| {}).is_ok());
        assert!(with(|s| s.vswitch = Some("vSwitch; reboot".to_owned())).is_err());
        assert!(with(|s| s.vmkernel = Some("--all".to_owned())).is_err());
        assert!(with(|s| s.portal = Some("nas.example".to_owned())).is_err());
        assert!(with(|s| s.portal = Some("10.0.0.9:3261".to_owned())).is_ok());
        assert!(with(|s| s.vlan = Some(5000)).is_err());
        assert!(with(|s| s.netmask = Some(Ipv4Addr::new(255, 0, 255, 0))).is_err());
    }

    #[test]
    fn the_port_is_in_the_subnet_of_the_portal() {
        let mut settings = Settings {
            portal: Some("10.10.1.2".to_owned()),
            address: Some(Ipv4Addr::new(10, 10, 2, 11)),
            netmask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            ..Settings::default()
        };
        assert_eq!(settings.check().unwrap_err().name, "address");
        settings.address = Some(Ipv4Addr::new(10, 10, 1, 11));
        settings.check().unwrap();
        assert_eq!(settings.portal().1, "10.10.1.2:3260");
    }
}
