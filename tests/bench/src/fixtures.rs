//! Large fixtures, kept outside the checkout and made once.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use plimsoll_support::GENERATOR_VERSION;
use plimsoll_support::export::{Edit, Export};
use plimsoll_support::family::Family;
use plimsoll_support::site::{Site, SiteSpec};
use plimsoll_support::write::{XlsxStyle, xlsx};

use crate::Result;

/// An export of this many VMs; all tabs, or only those named.
pub fn export(vms: u32, tabs: &[&str]) -> Result<PathBuf> {
    let home = std::env::var_os("HOME").ok_or("HOME is not set")?;
    let folder =
        PathBuf::from(home).join(".cache/plimsoll/fixtures").join(format!("v{GENERATOR_VERSION}"));
    let what = if tabs.is_empty() { "all".to_owned() } else { tabs.join("-") };
    let path = folder.join(format!("vms-{vms}-{what}.xlsx"));
    if path.is_file() {
        return Ok(path);
    }
    eprintln!("making {}", path.display());
    fs::create_dir_all(&folder)?;
    let site = Site::new(SiteSpec::plain(vms));
    let mut export = Export::new(Family::V47, site.whole());
    if !tabs.is_empty() {
        export = export.with([Edit::OnlyTabs(tabs.iter().map(|tab| (*tab).to_owned()).collect())]);
    }
    // Under another name until it is whole.
    let unfinished = path.with_extension("part");
    xlsx::write(&export, XlsxStyle::default(), BufWriter::new(File::create(&unfinished)?))?
        .into_inner()?
        .sync_all()?;
    fs::rename(&unfinished, &path)?;
    Ok(path)
}
