//! Datastore URLs: `iscsi://[user%secret@]host[:3260]/iqn/lun` (the form other iSCSI tools use), the same with
//! `iser://` for iSCSI over RDMA, and
//! `nfs://host[:port]/export` (with a port: MOUNT and NFS on it; without: the portmapper is asked).

use std::fmt;

use crate::{Chap, Error, Transport};

/// A logical unit behind an iSCSI portal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiUrl {
    /// What carries the session.
    pub transport: Transport,
    /// User and secret, when given.
    pub chap: Option<Chap>,
    /// Host name or address (IPv6 without brackets).
    pub host: String,
    /// Port, of TCP or of the RDMA connection manager.
    pub port: u16,
    /// Target name.
    pub target: String,
    /// Logical unit number.
    pub lun: u16,
}

/// An export of an NFS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsUrl {
    /// Host name or address (IPv6 without brackets).
    pub host: String,
    /// TCP port of MOUNT and NFS; none: ask the portmapper.
    pub port: Option<u16>,
    /// Export path, with its leading slash.
    pub export: String,
}

/// A datastore's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Url {
    /// iSCSI, over TCP or RDMA.
    Iscsi(IscsiUrl),
    /// NFSv3.
    Nfs(NfsUrl),
}

impl Url {
    /// Parses any of the forms.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fail = |reason| Error::Url { url: without_secret(text), reason };
        if let Some(rest) = text.strip_prefix("iscsi://") {
            parse_iscsi(Transport::Tcp, rest).map(Self::Iscsi).map_err(fail)
        } else if let Some(rest) = text.strip_prefix("iser://") {
            parse_iscsi(Transport::Iser, rest).map(Self::Iscsi).map_err(fail)
        } else if let Some(rest) = text.strip_prefix("nfs://") {
            parse_nfs(rest).map(Self::Nfs).map_err(fail)
        } else {
            Err(fail("must begin with iscsi://, iser:// or nfs://"))
        }
    }
}

fn parse_iscsi(transport: Transport, rest: &str) -> Result<IscsiUrl, &'static str> {
    const TCP_FORM: &str = "must look like iscsi://[user%secret@]host[:port]/target-name/lun";
    const ISER_FORM: &str = "must look like iser://[user%secret@]host[:port]/target-name/lun";
    let form = if transport == Transport::Tcp { TCP_FORM } else { ISER_FORM };
    let (authority, path) = rest.split_once('/').ok_or(form)?;
    let (chap, authority) = match authority.rsplit_once('@') {
        None => (None, authority),
        Some((user, host)) => {
            let (user, secret) =
                user.split_once('%').ok_or("a user needs a secret: user%secret@host")?;
            (Some(Chap { user: user.to_owned(), secret: secret.to_owned() }), host)
        }
    };
    let (host, port) = host_port(authority)?;
    let (target, lun) = path.rsplit_once('/').ok_or(form)?;
    if target.is_empty() || target.len() > 223 {
        return Err("a target name has 1 to 223 bytes");
    }
    let lun = lun
        .parse()
        .ok()
        .filter(|&l: &u16| l < 16384)
        .ok_or("the lun is a number from 0 to 16383")?;
    let (port, target) = (port.unwrap_or(3260), target.to_owned());
    Ok(IscsiUrl { transport, chap, host, port, target, lun })
}

fn parse_nfs(rest: &str) -> Result<NfsUrl, &'static str> {
    let at = rest.find('/').ok_or("must look like nfs://host[:port]/export")?;
    let (host, port) = host_port(&rest[..at])?;
    let export = rest[at..].split('?').next().unwrap_or("/");
    if export.len() > 1024 {
        return Err("an export path has at most 1024 bytes");
    }
    Ok(NfsUrl { host, port, export: export.to_owned() })
}

pub(crate) fn host_port(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    const PORT: &str = "the port is a number from 1 to 65535";
    let parse = |port: &str| port.parse().ok().filter(|&p: &u16| p > 0).ok_or(PORT);
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("an IPv6 address needs both brackets")?;
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(parse(port)?)),
            None if rest.is_empty() => (host, None),
            None => return Err("only a port may follow an IPv6 address"),
        }
    } else {
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(parse(port)?)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err("a host is missing");
    }
    // Letters, digits and what names, addresses and zones are written with; the rest cannot be shown again.
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '%');
    if !host.chars().all(is_host) {
        return Err("a host is a name or an address");
    }
    Ok((host.to_owned(), port))
}

/// The URL as it may be shown: without the secret.
fn without_secret(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(a, p)| (a, p));
    match authority.rsplit_once('@') {
        None => text.to_owned(),
        Some((user, host)) => {
            let user = user.split('%').next().unwrap_or("");
            format!("{scheme}://{user}%...@{host}/{path}")
        }
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iscsi(url) => {
                let scheme = if url.transport == Transport::Tcp { "iscsi" } else { "iser" };
                let host = bracketed(&url.host);
                write!(f, "{scheme}://{host}:{}/{}/{}", url.port, url.target, url.lun)
            }
            Self::Nfs(url) => {
                write!(f, "nfs://{}", bracketed(&url.host))?;
                if let Some(port) = url.port {
                    write!(f, ":{port}")?;
                }
                f.write_str(&url.export)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn iscsi_urls_of_all_forms() {
        let Url::Iscsi(url) =
            Url::parse("iscsi://joe%s3cret@[::1]:3261/iqn.2026-01.a:b/7").unwrap()
        else {
            panic!("not iSCSI")
        };
        assert_eq!(url.chap, Some(Chap { user: "joe".into(), secret: "s3cret".into() }));
        assert_eq!((url.host.as_str(), url.port, url.lun), ("::1", 3261, 7));
        assert_eq!(url.target, "iqn.2026-01.a:b");
        let plain = Url::parse("iscsi://host/iqn.x/0").unwrap();
        assert_eq!(plain.to_string(), "iscsi://host:3260/iqn.x/0");
        let Url::Iscsi(rdma) = Url::parse("iser://joe%s3cret@host/iqn.x/0").unwrap() else {
            panic!("not iSCSI")
        };
        assert_eq!(rdma.transport, Transport::Iser);
        assert_eq!(Url::Iscsi(rdma).to_string(), "iser://host:3260/iqn.x/0");
        for bad in [
            "iscsi://host",
            "iscsi://host/iqn",
            "iscsi://host/iqn/x",
            "iscsi://joe@host/iqn/0",
            "iscsi:///i/0",
            "iser://host/iqn",
            "iscsi://[[::1]/i/0",
            "iscsi://a\u{7}b/i/0",
        ] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nfs_urls_with_and_without_a_port() {
        let Url::Nfs(url) = Url::parse("nfs://10.0.0.1/a/b").unwrap() else { panic!("not NFS") };
        assert_eq!((url.port, url.export.as_str()), (None, "/a/b"));
        assert_eq!(Url::parse("nfs://h:2049/x").unwrap().to_string(), "nfs://h:2049/x");
        for bad in ["nfs://h", "nfs://h:0/x", "nfs://h:99999/x", "http://h/x"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_never_shown() {
        let error = Url::parse("iscsi://joe%hunter2@host/iqn").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let Url::Iscsi(url) = Url::parse("iscsi://joe%hunter2@host/iqn/0").unwrap() else {
            panic!("not iSCSI")
        };
        assert!(!format!("{url:?}").contains("hunter2"));
    }
}
