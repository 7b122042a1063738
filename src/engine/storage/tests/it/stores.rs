//! Both backing stores against a model of plain bytes and a flag per sector.

use std::sync::Arc;

use plimsoll_storage::{BlockStore, Charge, FileStore, MemoryStore, Provisioning, Ready, Space};
use proptest::prelude::*;

const MAX: u64 = 400 * 1024 + 700;

#[derive(Debug, Clone)]
enum Op {
    Write(u64, u64, u8),
    Or(u64, u64, u8),
    Compare { offset: u64, len: u64, flip: Option<u64>, value: u8 },
    Zero(u64, u64),
    Unmap(u64, u64),
    Resize(u64),
    Reopen,
}

/// Offsets and lengths that often meet the borders of sectors and grains.
fn range() -> impl Strategy<Value = (u64, u64)> {
    let point = prop_oneof![
        0..MAX,
        (0..MAX / 512).prop_map(|sector| sector * 512),
        (0..MAX / 65_536).prop_map(|grain| grain * 65_536),
    ];
    let len = prop_oneof![0..2000_u64, (0..300_u64).prop_map(|n| n * 512), Just(65_536), Just(MAX)];
    (point, len)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (range(), 1_u8..).prop_map(|((offset, len), value)| Op::Write(offset, len, value)),
        2 => (range(), 1_u8..).prop_map(|((offset, len), value)| Op::Or(offset, len, value)),
        2 => (range(), proptest::option::of(0..70_000_u64), 1_u8..)
            .prop_map(|((offset, len), flip, value)| Op::Compare { offset, len, flip, value }),
        1 => range().prop_map(|(offset, len)| Op::Zero(offset, len)),
        3 => range().prop_map(|(offset, len)| Op::Unmap(offset, len)),
        1 => (0..=MAX).prop_map(Op::Resize),
        1 => Just(Op::Reopen),
    ]
}

struct Model {
    bytes: Vec<u8>,
    mapped: Vec<bool>,
}

impl Model {
    fn new(size: u64) -> Self {
        Self { bytes: vec![0; size as usize], mapped: vec![false; size.div_ceil(512) as usize] }
    }

    fn put(&mut self, offset: usize, data: &[u8]) {
        self.bytes[offset..][..data.len()].copy_from_slice(data);
        if !data.is_empty() {
            self.mapped[offset / 512..(offset + data.len()).div_ceil(512)].fill(true);
        }
    }

    fn unmap(&mut self, offset: usize, len: usize) {
        self.bytes[offset..][..len].fill(0);
        let (first, end) = (offset.div_ceil(512), (offset + len) / 512);
        if first < end {
            self.mapped[first..end].fill(false);
        }
    }

    fn resize(&mut self, size: usize) {
        if size < self.bytes.len() {
            self.mapped[size.div_ceil(512)..].fill(false);
        }
        self.bytes.resize(size, 0);
        self.mapped.resize(size.div_ceil(512), false);
    }

    fn allocated(&self) -> u64 {
        self.mapped.chunks(8).filter(|unit| unit.contains(&true)).count() as u64 * 4096
    }
}

fn read(store: &BlockStore, offset: u64, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let ready = store.read(offset, len, &mut |payload| payload.copy_to(&mut out)).unwrap();
    if ready == Ready::Blocking {
        assert!(out.is_empty());
        out.resize(len, 0);
        store.read_blocking(offset, &mut out).unwrap();
    }
    out
}

fn status(store: &BlockStore) -> Vec<bool> {
    let mut at = 0;
    let mut mapped = Vec::new();
    while at < store.size_bytes() {
        let (kind, len) = store.status(at).unwrap();
        assert!(len > 0 && at + len <= store.size_bytes());
        let sectors = ((at + len).div_ceil(512) - at / 512) as usize;
        mapped.extend(std::iter::repeat_n(kind == Provisioning::Mapped, sectors));
        at += len;
    }
    mapped
}

fn run(ops: &[Op], open: &mut dyn FnMut(u64) -> BlockStore, space: &Arc<Space>, persistent: bool) {
    let mut store = open(MAX);
    let mut model = Model::new(MAX);
    for op in ops {
        let size = model.bytes.len() as u64;
        let clamp = |offset: u64, len: u64| {
            let offset = offset.min(size);
            (offset, len.min(size - offset) as usize)
        };
        match *op {
            Op::Write(offset, len, value) => {
                let (offset, len) = clamp(offset, len);
                let data = vec![value; len];
                store.write(offset, &data).unwrap();
                model.put(offset as usize, &data);
            }
            Op::Or(offset, len, value) => {
                let (offset, len) = clamp(offset, len);
                store.or_write(offset, &vec![value; len]).unwrap();
                let merged: Vec<u8> =
                    model.bytes[offset as usize..][..len].iter().map(|old| old | value).collect();
                model.put(offset as usize, &merged);
            }
            Op::Compare { offset, len, flip, value } => {
                let (offset, len) = clamp(offset, len);
                let mut compare = model.bytes[offset as usize..][..len].to_vec();
                let flip = flip.map(|at| at as usize).filter(|&at| at < len);
                if let Some(at) = flip {
                    compare[at] ^= 0x40;
                }
                let data = vec![value; len];
                assert_eq!(store.compare_and_write(offset, &compare, &data).unwrap(), flip);
                if flip.is_none() {
                    model.put(offset as usize, &data);
                }
            }
            Op::Zero(offset, len) => {
                let (offset, len) = clamp(offset, len);
                store.write_zeroes(offset, len as u64).unwrap();
                model.put(offset as usize, &vec![0; len]);
            }
            Op::Unmap(offset, len) => {
                let (offset, len) = clamp(offset, len);
                store.unmap(offset, len as u64).unwrap();
                model.unmap(offset as usize, len);
            }
            Op::Resize(size) => {
                store.resize(size).unwrap();
                model.resize(size as usize);
            }
            Op::Reopen if persistent => {
                drop(store);
                assert_eq!(space.used(), 0, "dropping gives everything back");
                store = open(size);
                // The file system knows 4 KiB blocks and may forget zeroes; data must be the same.
                model.mapped = status(&store);
            }
            Op::Reopen => {}
        }
        assert_eq!(store.size_bytes(), model.bytes.len() as u64);
        assert!(read(&store, 0, model.bytes.len()) == model.bytes, "data after {op:?}");
        assert_eq!(status(&store), model.mapped, "provisioning after {op:?}");
        assert_eq!(store.allocated_bytes(), model.allocated(), "allocation after {op:?}");
        assert_eq!(space.used(), model.allocated());
    }
    drop(store);
    assert_eq!(space.used(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_store_does_what_plain_bytes_do(ops in proptest::collection::vec(op(), 1..40)) {
        let space = Space::unlimited();
        let open = |size| BlockStore::Memory(MemoryStore::new(size, Arc::clone(&space)));
        run(&ops, &mut { open }, &space, false);
    }

    #[test]
    fn file_store_does_what_plain_bytes_do(ops in proptest::collection::vec(op(), 1..40)) {
        let space = Space::unlimited();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volume");
        let mut open = |size| BlockStore::File(
            FileStore::open(&path, size, Arc::clone(&space), Charge::WhileOpen).unwrap());
        run(&ops, &mut open, &space, true);
    }
}

fn both(size: u64, space: &Arc<Space>) -> (Vec<BlockStore>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file =
        FileStore::open(&folder.path().join("volume"), size, Arc::clone(space), Charge::WhileOpen);
    let memory = MemoryStore::new(size, Arc::clone(space));
    (vec![BlockStore::Memory(memory), BlockStore::File(file.unwrap())], folder)
}

#[test]
fn ranges_beyond_the_end_are_refused_and_change_nothing() {
    let (stores, _folder) = both(100_000, &Space::unlimited());
    for store in stores {
        assert!(store.write(99_999, &[1, 2]).is_err());
        assert!(store.write(u64::MAX, &[1, 2]).is_err());
        assert!(store.read(1, 100_000, &mut |_| panic!("no payload")).is_err());
        assert!(store.unmap(u64::MAX - 1, 5).is_err());
        assert!(store.write_zeroes(0, 100_001).is_err());
        assert!(store.compare_and_write(99_999, &[0, 0], &[1, 1]).is_err());
        assert!(store.status(100_000).is_err());
        assert_eq!(store.allocated_bytes(), 0);
    }
}

#[test]
fn a_thin_store_of_64_tib_is_written_at_both_ends_and_its_hole_is_one_run() {
    let size = 64 << 40;
    let space = Space::unlimited();
    let store = BlockStore::Memory(MemoryStore::new(size, Arc::clone(&space)));
    store.write(0, &[1; 512]).unwrap();
    store.write(size - 512, &[2; 512]).unwrap();
    assert_eq!(space.used(), 8192);
    assert_eq!(store.status(0).unwrap(), (Provisioning::Mapped, 512));
    let (kind, len) = store.status(512).unwrap();
    assert_eq!(kind, Provisioning::Hole);
    assert!(len >= 4 << 30);
    store.unmap(0, size).unwrap();
    assert_eq!(space.used(), 0);
}

#[test]
fn a_full_pool_refuses_the_write_whole_and_takes_it_after_an_unmap() {
    let space = Space::new(3 * 65_536);
    let (stores, _folder) = both(1 << 20, &space);
    for store in stores {
        store.write(0, &[1; 2 * 65_536]).unwrap();
        let error = store.write(65_536 + 4096, &[2; 2 * 65_536]).unwrap_err();
        assert!(error.is_no_space(), "{error}");
        assert_eq!(read(&store, 65_536, 65_536), vec![1; 65_536], "nothing was written");
        store.write(0, &[3; 65_536]).unwrap();
        store.unmap(0, 65_536).unwrap();
        store.write(65_536 + 4096, &[2; 2 * 65_536]).unwrap();
        store.unmap(0, 1 << 20).unwrap();
    }
}

#[test]
fn a_payload_outlives_unmapping_and_the_store_itself() {
    let (stores, _folder) = both(1 << 20, &Space::unlimited());
    for store in stores {
        store.write(10, &[7; 1000]).unwrap();
        let mut kept = None;
        while store.read(10, 1000, &mut |payload| kept = Some(payload)).unwrap() == Ready::Blocking
        {
        }
        let file = matches!(store, BlockStore::File(_));
        store.unmap(0, 1 << 20).unwrap();
        drop(store);
        let mut bytes = Vec::new();
        kept.unwrap().copy_to(&mut bytes);
        // The page of a file is gone with the hole; the memory of a grain lives as long as its payload.
        assert!(file || bytes.iter().all(|&byte| byte == 0 || byte == 7));
        assert_eq!(bytes.len(), 1000);
    }
}

#[test]
fn what_a_closed_file_keeps_charged_is_not_charged_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let space = Space::unlimited();
    let open = || FileStore::open(&path, 65_536, Arc::clone(&space), Charge::Always).unwrap();
    open().write(0, &[1; 8192]).unwrap();
    assert_eq!(space.used(), 8192);
    let store = open();
    assert_eq!((store.allocated_bytes(), space.used()), (8192, 8192));
    store.unmap(0, 65_536).unwrap();
    assert_eq!(space.used(), 0);
}
