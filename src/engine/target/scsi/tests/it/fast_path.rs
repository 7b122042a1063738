//! READ and WRITE that pass must not allocate: they are what throughput is made of.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use plimsoll_target_scsi::Plan;
use plimsoll_wire::scsi::LunField;

use crate::support::{device, login, read, write};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a plain thread-local cell.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn read_and_write_that_pass_allocate_nothing() {
    let mut nexus = login(&device(), 1, 1);
    let lun = LunField::unit(0);
    let (read, write) = (read(8, 16).cdb(), write(8, 16).cdb());
    let before = ALLOCATIONS.get();
    for _ in 0..1000 {
        assert!(matches!(
            nexus.begin(lun, black_box(&read), 0),
            Plan::Read { offset: 4096, len: 8192 }
        ));
        assert!(matches!(
            nexus.begin(lun, black_box(&write), 8192),
            Plan::Write { offset: 4096, len: 8192, durable: false }
        ));
    }
    assert_eq!(ALLOCATIONS.get(), before);
    drop(Box::new(black_box(1)));
    assert!(ALLOCATIONS.get() > before, "the count counts");
}
