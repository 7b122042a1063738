//! Virtual disks: on which datastore, raw or not, shared or not.
//!
//! A disk that several VMs use is listed once for each of them; all listings but the first are
//! marked as duplicates, told by the path on the datastore, else by the disk's UUID.

use plimsoll_ingest::Export;
use plimsoll_ingest::rows::DiskRow;
use plimsoll_units::Mib;
use polars::prelude::*;

use crate::build::Joined;
use crate::duplicates::Owners;
use crate::frames::plausible;
use crate::names::DatastorePath;
use crate::types::{DatastoreId, Disk, VmId};

/// What vDisk gives.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    /// Disks of listed VMs, grouped by VM.
    pub list: Vec<Disk>,
    /// Rows that count, those of VMs outside vInfo included.
    pub rows: u64,
    /// Of these, rows with a path on a datastore or raw.
    pub placed: u64,
    /// The frame of [`crate::frames::Frames::disks`].
    pub frame: DataFrame,
}

/// Reads vDisk.
pub(crate) fn read<'a>(export: &'a Export, joined: &mut Joined<'a>) -> Disks {
    let vms = joined.index.len();
    let mut owners = Owners::new(vms);
    let mut listings: PlHashMap<Listing<'a>, First> = PlHashMap::default();
    let mut list: Vec<Disk> = Vec::with_capacity(export.disks.len());
    let mut columns = Columns::with_capacity(export.disks.len());
    let mut placed = 0;
    for row in &export.disks {
        let Some((vm, vcenter)) = joined.accept(export, row.at, &row.vm, &mut owners) else {
            continue;
        };
        let raw = row.raw == Some(true);
        // `Disk Path` is the guest's view; only an odd writer puts the datastore there.
        let paths = [&row.path, &row.guest_paths];
        let path = paths.into_iter().flatten().find_map(|path| DatastorePath::parse(path));
        let datastore = path.map(|path| joined.place(vcenter, path.datastore, vm, row.at));
        placed += u64::from(path.is_some() || raw);
        let capacity = plausible(row.capacity, ("vDisk", "Capacity"), row.at, &mut joined.report);
        let flagged = is_shared(row);
        let position = Some(list.len()).filter(|_| (vm as usize) < vms);
        let first = Listing::of(row, datastore, path, flagged)
            .and_then(|listing| first_listing(&mut listings, listing, vm, position));
        let shared = flagged || first.is_some();
        if let Some(First { disk: Some(earlier), .. }) = first {
            list[earlier].shared = true;
        }
        columns.push(vm, datastore.filter(|_| !raw), capacity, raw, first.is_some());
        if (vm as usize) < vms {
            list.push(Disk {
                vm: VmId(vm),
                at: row.at,
                label: row.disk.clone().unwrap_or_else(|| "".into()),
                capacity: Mib(capacity.unwrap_or(0)),
                datastore: datastore.filter(|_| !raw),
                raw,
                shared,
                duplicate: first.is_some(),
                thin: row.thin,
            });
        }
    }
    list.sort_by_key(|disk| disk.vm);
    Disks { list, rows: columns.vm.len() as u64, placed, frame: columns.frame() }
}

/// What two listings of one shared disk have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Listing<'a> {
    File(DatastoreId, &'a str),
    Uuid(&'a str),
}

impl<'a> Listing<'a> {
    fn of(
        row: &'a DiskRow,
        datastore: Option<DatastoreId>,
        path: Option<DatastorePath<'a>>,
        flagged: bool,
    ) -> Option<Self> {
        // Copies of a disk keep its UUID, so that it only tells shared disks.
        let uuid = row.disk_uuid.as_deref().filter(|_| flagged).map(Self::Uuid);
        let file = datastore.zip(path).filter(|(_, path)| !path.file.is_empty());
        uuid.or_else(|| file.map(|(datastore, path)| Self::File(datastore, path.file)))
    }
}

#[derive(Debug, Clone, Copy)]
struct First {
    vm: u32,
    /// Position among the disks of listed VMs.
    disk: Option<usize>,
}

/// The first listing by another VM, when this is not the first.
fn first_listing<'a>(
    listings: &mut PlHashMap<Listing<'a>, First>,
    listing: Listing<'a>,
    vm: u32,
    position: Option<usize>,
) -> Option<First> {
    let first = *listings.entry(listing).or_insert(First { vm, disk: position });
    (first.vm != vm).then_some(first)
}

/// Multi-writer, or on a controller whose bus is shared. RVTools 3.x wrote the bus as a number,
/// in which 0 is the usual "not shared".
fn is_shared(row: &DiskRow) -> bool {
    let says = |text: &Option<_>, words: [&str; 2]| {
        text.as_deref().is_some_and(|text: &str| {
            let text = text.trim();
            words.iter().any(|word| text.eq_ignore_ascii_case(word))
        })
    };
    says(&row.sharing_mode, ["sharingMultiWriter", "multi-writer"])
        || says(&row.shared_bus, ["physicalSharing", "virtualSharing"])
        || says(&row.shared_bus, ["1", "2"])
}

#[derive(Debug)]
struct Columns {
    vm: Vec<u32>,
    datastore: Vec<Option<u32>>,
    capacity: Vec<Option<u64>>,
    stored: Vec<Option<u64>>,
    file: Vec<Option<u64>>,
}

impl Columns {
    fn with_capacity(rows: usize) -> Self {
        Self {
            vm: Vec::with_capacity(rows),
            datastore: Vec::with_capacity(rows),
            capacity: Vec::with_capacity(rows),
            stored: Vec::with_capacity(rows),
            file: Vec::with_capacity(rows),
        }
    }

    fn push(
        &mut self,
        vm: u32,
        datastore: Option<DatastoreId>,
        capacity: Option<u64>,
        raw: bool,
        duplicate: bool,
    ) {
        self.vm.push(vm);
        self.datastore.push(datastore.map(|id| id.0));
        self.capacity.push(capacity);
        self.stored.push(capacity.filter(|_| !raw && !duplicate));
        self.file.push(capacity.filter(|_| !raw));
    }

    fn frame(self) -> DataFrame {
        crate::frames::proven(df!(
            "vm" => self.vm,
            "datastore" => self.datastore,
            "capacity" => self.capacity,
            "stored" => self.stored,
            "file" => self.file,
        ))
    }
}
