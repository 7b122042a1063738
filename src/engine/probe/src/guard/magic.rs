//! What tells that a block device holds somebody's data: partition tables, file systems, volume managers,
//! encryption, RAID members.
//!
//! Each mark is looked for at the start of the device and behind the usual first partitions (1 MiB, 2048
//! and 128 sectors), because a file system may outlive its partition table.

/// A part of the device to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

struct Mark {
    name: &'static str,
    at: u64,
    bytes: &'static [u8],
}

const fn mark(name: &'static str, at: u64, bytes: &'static [u8]) -> Mark {
    Mark { name, at, bytes }
}

/// Marks at a fixed distance from the start of a device or partition.
const MARKS: &[Mark] = &[
    mark("a GPT partition table", 512, b"EFI PART"),
    mark("a GPT partition table (4 KiB sectors)", 4096, b"EFI PART"),
    mark("a VMFS volume", 0x10_0000, &0xc001_d00d_u32.to_le_bytes()),
    mark("a VMFS file system", 0x120_0000, &0x2fab_f15e_u32.to_le_bytes()),
    mark("an ext2/3/4 file system", 1024 + 0x38, &[0x53, 0xef]),
    mark("an XFS file system", 0, b"XFSB"),
    mark("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    mark("an NTFS file system", 3, b"NTFS    "),
    mark("an exFAT file system", 3, b"EXFAT   "),
    mark("a ReFS file system", 3, b"ReFS\0\0\0\0"),
    mark("a FAT file system", 54, b"FAT1"),
    mark("a FAT32 file system", 82, b"FAT32   "),
    mark("an LVM physical volume", 0, b"LABELONE"),
    mark("an LVM physical volume", 512, b"LABELONE"),
    mark("an LVM physical volume", 1024, b"LABELONE"),
    mark("an LVM physical volume", 1536, b"LABELONE"),
    mark("a LUKS container", 0, b"LUKS\xba\xbe"),
    mark("a LUKS container", 0x4000, b"SKUL\xba\xbe"),
    mark("a Linux RAID member", 0, &0xa92b_4efc_u32.to_le_bytes()),
    mark("a Linux RAID member", 4096, &0xa92b_4efc_u32.to_le_bytes()),
    mark("a swap area", 4086, b"SWAPSPACE2"),
    mark("an F2FS file system", 1024, &0xf2f5_2010_u32.to_le_bytes()),
    mark("a bcache device", 0x1018, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    mark("a Ceph BlueStore device", 0, b"bluestore block device"),
    mark("an Oracle ASM disk", 32, b"ORCLDISK"),
    mark("an ISO 9660 file system", 0x8001, b"CD001"),
];

/// Where a partition usually begins; 0 is the device itself.
const STARTS: [u64; 3] = [0, 128 * 512, 2048 * 512];

/// Beginning of a ZFS label's uberblock ring, and how many labels are at the start.
const ZFS_RING: u64 = 128 << 10;
const ZFS_LABEL: u64 = 256 << 10;
const ZFS_MAGIC: u64 = 0x00ba_b10c;

/// What has to be read of a device of this size.
#[must_use]
pub fn regions(capacity_bytes: u64) -> Vec<Region> {
    const PIECE: u32 = 64 << 10;
    let mut wanted: Vec<u64> = Vec::new();
    for start in STARTS {
        for mark in MARKS {
            wanted.push((start + mark.at) / u64::from(PIECE));
        }
        for label in [0, 1] {
            let ring = start + label * ZFS_LABEL + ZFS_RING;
            wanted.extend([ring / u64::from(PIECE), ring / u64::from(PIECE) + 1]);
        }
    }
    // The end: backup GPT, RAID superblocks of old formats, ZFS labels.
    let last = capacity_bytes.saturating_sub(1) / u64::from(PIECE);
    wanted.extend(last.saturating_sub(9)..=last);
    wanted.sort_unstable();
    wanted.dedup();
    wanted
        .into_iter()
        .map(|piece| piece * u64::from(PIECE))
        .filter(|&offset| offset < capacity_bytes)
        .map(|offset| {
            let rest = capacity_bytes - offset;
            #[expect(clippy::cast_possible_truncation, reason = "at most 64 KiB")]
            let len = rest.min(u64::from(PIECE)) as u32;
            Region { offset, len }
        })
        .collect()
}

/// What is found in pieces of a device, each with its offset.
#[must_use]
pub fn find(pieces: &[(u64, Vec<u8>)], capacity_bytes: u64) -> Vec<String> {
    let at = |offset: u64, len: usize| -> Option<&[u8]> {
        pieces.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(from..from + len)
        })
    };
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|have| have == name) {
            found.push(name.to_owned());
        }
    };
    for start in STARTS {
        for mark in MARKS {
            if at(start + mark.at, mark.bytes.len()) == Some(mark.bytes) {
                add(mark.name);
            }
        }
        for label in [0, 1] {
            if has_uberblock(at(start + label * ZFS_LABEL + ZFS_RING, 4096)) {
                add("a ZFS pool member");
            }
        }
    }
    if at(510, 2) == Some(&[0x55, 0xaa]) && !found_boot_sector_of_file_system(at(0, 512)) {
        add(partition_table(at(0, 512)));
    }
    let end = capacity_bytes;
    for back in [512, 4096] {
        if let Some(offset) = end.checked_sub(back)
            && at(offset, 8) == Some(b"EFI PART")
        {
            add("a backup GPT partition table");
        }
    }
    // Format 1.0 lies 8 to 12 KiB before the end, 0.90 64 to 128 KiB before it, both aligned.
    let raid = 0xa92b_4efc_u32.to_le_bytes();
    let old = (end & !0xffff).checked_sub(0x1_0000);
    let new = end.checked_sub(0x2000).map(|offset| offset & !0xfff);
    if [old, new].into_iter().flatten().any(|offset| at(offset, 4) == Some(&raid)) {
        add("a Linux RAID member");
    }
    let aligned = end / ZFS_LABEL * ZFS_LABEL;
    for label in [1, 2] {
        let ring = aligned.checked_sub(label * ZFS_LABEL).map(|offset| offset + ZFS_RING);
        if ring.is_some_and(|offset| has_uberblock(at(offset, 4096))) {
            add("a ZFS pool member");
        }
    }
    found
}

fn has_uberblock(bytes: Option<&[u8]>) -> bool {
    let Some(bytes) = bytes else { return false };
    bytes.chunks_exact(1024).any(|block| {
        block.first_chunk::<8>().is_some_and(|word| {
            u64::from_le_bytes(*word) == ZFS_MAGIC || u64::from_be_bytes(*word) == ZFS_MAGIC
        })
    })
}

/// Boot sectors of file systems end in 55 AA too; they have a name of their own.
fn found_boot_sector_of_file_system(sector: Option<&[u8]>) -> bool {
    let names: [(usize, &[u8]); 5] =
        [(3, b"NTFS"), (3, b"EXFAT"), (3, b"ReFS"), (54, b"FAT1"), (82, b"FAT32")];
    sector.is_some_and(|sector| {
        names.iter().any(|(from, name)| sector.get(*from..from + name.len()) == Some(name))
    })
}

fn partition_table(sector: Option<&[u8]>) -> &'static str {
    let kinds = sector.map(|sector| [450, 466, 482, 498].map(|at| sector.get(at).copied()));
    match kinds {
        Some(kinds) if kinds.contains(&Some(0xee)) => "a protective MBR of a GPT",
        Some(kinds) if kinds.contains(&Some(0xfb)) => {
            "an MBR partition table with a VMFS partition"
        }
        _ => "an MBR partition table or boot sector",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const SIZE: u64 = 64 << 20;

    fn found_with(writes: &[(u64, &[u8])]) -> Vec<String> {
        let mut device = vec![0u8; usize::try_from(SIZE).unwrap()];
        for (at, bytes) in writes {
            let at = usize::try_from(*at).unwrap();
            device[at..at + bytes.len()].copy_from_slice(bytes);
        }
        let pieces: Vec<(u64, Vec<u8>)> = regions(SIZE)
            .iter()
            .map(|region| {
                let from = usize::try_from(region.offset).unwrap();
                (region.offset, device[from..from + region.len as usize].to_vec())
            })
            .collect();
        find(&pieces, SIZE)
    }

    #[test]
    fn an_empty_device_is_free() {
        assert!(found_with(&[]).is_empty());
        let random: Vec<u8> = (0..4096u32).map(|n| (n * 7 + 3) as u8).collect();
        assert!(found_with(&[(0, &random[..500]), (8192, &random)]).is_empty());
    }

    #[test]
    fn every_mark_is_found_at_the_start_and_in_a_partition() {
        for start in STARTS {
            for mark in MARKS {
                let found = found_with(&[(start + mark.at, mark.bytes)]);
                assert!(
                    found.iter().any(|name| name == mark.name),
                    "{} at {start}: {found:?}",
                    mark.name
                );
            }
        }
    }

    #[test]
    fn tables_and_members_at_the_end_are_found() {
        assert_eq!(found_with(&[(SIZE - 512, b"EFI PART")]), ["a backup GPT partition table"]);
        let raid = 0xa92b_4efc_u32.to_le_bytes();
        assert_eq!(found_with(&[(SIZE - 0x1_0000, &raid)]), ["a Linux RAID member"]);
        assert_eq!(found_with(&[(SIZE - 0x2000, &raid)]), ["a Linux RAID member"]);
        let uberblock = ZFS_MAGIC.to_le_bytes();
        assert_eq!(found_with(&[(SIZE - ZFS_LABEL + ZFS_RING, &uberblock)]), ["a ZFS pool member"]);
        assert_eq!(
            found_with(&[(ZFS_RING + 1024, &ZFS_MAGIC.to_be_bytes())]),
            ["a ZFS pool member"]
        );
    }

    #[test]
    fn boot_sectors_are_told_apart() {
        assert_eq!(found_with(&[(510, &[0x55, 0xaa])]), ["an MBR partition table or boot sector"]);
        assert_eq!(
            found_with(&[(510, &[0x55, 0xaa]), (450, &[0xee])]),
            ["a protective MBR of a GPT"]
        );
        assert!(found_with(&[(510, &[0x55, 0xaa]), (450, &[0xfb])])[0].contains("VMFS"));
        assert_eq!(found_with(&[(510, &[0x55, 0xaa]), (3, b"NTFS    ")]), ["an NTFS file system"]);
    }

    #[test]
    fn regions_of_a_small_device_stay_inside() {
        for size in [512, 4096, 65_536 + 512, 3 << 20] {
            assert!(
                regions(size).iter().all(|region| region.offset + u64::from(region.len) <= size)
            );
        }
    }
}
