//! What the fuzz targets share: an allocator that holds decoders to their word, and checks of round trips.
//!
//! A length read from the wire must not size an allocation before it is capped. Here a single allocation
//! may be 64 times the input plus 1 MiB; a larger one ends the process, which libFuzzer reports as a crash.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Capped;

static CAP_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

impl Capped {
    fn check(layout: Layout) {
        if layout.size() > CAP_BYTES.load(Ordering::Relaxed) && !std::thread::panicking() {
            CAP_BYTES.store(usize::MAX, Ordering::Relaxed);
            eprintln!("one allocation of {} bytes", layout.size());
            std::process::abort();
        }
    }
}

// SAFETY: every call is handed to the system's allocator unchanged, or the process ends.
unsafe impl GlobalAlloc for Capped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::check(layout);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    // Not the default, which would touch the pages of a large sparse table.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::check(layout);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System` with this layout, since `alloc` has no other source.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Capped = Capped;

/// Holds allocations to the size of this input from now on.
pub fn cap_allocations(input: &[u8]) {
    cap_allocations_at((1 << 20) + 64 * input.len());
}

/// Holds each allocation to so many bytes from now on.
pub fn cap_allocations_at(bytes: usize) {
    CAP_BYTES.store(bytes, Ordering::Relaxed);
}

/// The request that asks for the full feature phase at once, with that many bytes of keys.
pub fn login_request(data_len: u32) -> plimsoll_wire::iscsi::pdu::LoginRequest {
    use plimsoll_wire::iscsi::{Isid, pdu};

    pdu::LoginRequest {
        transit: true,
        more: false,
        stage: pdu::Stage::Operational,
        next_stage: pdu::Stage::FullFeature,
        version_max: 0,
        version_min: 0,
        data_len,
        isid: Isid::random([1, 2, 3], 4),
        tsih: 0,
        itt: 1,
        cid: 0,
        cmd_sn: 1,
        exp_stat_sn: 0,
    }
}

/// Decodes a value of an XDR type; what could be decoded must be the same after encoding and decoding again.
#[macro_export]
macro_rules! round_trip {
    ($type:ty, $bytes:expr) => {
        if let Ok(value) = plimsoll_wire::xdr::Reader::new($bytes).value::<$type>() {
            let mut encoded = Vec::new();
            plimsoll_wire::xdr::Writer::new(&mut encoded).value(&value);
            let again = plimsoll_wire::xdr::Reader::new(&encoded).value::<$type>();
            assert_eq!(again.as_ref(), Ok(&value), "encoded and decoded again");
        }
    };
}

pub mod target;

/// Cuts an input in parts, each after a byte that holds its length.
pub fn parts(mut input: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = input.split_first()?;
        let (part, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        input = rest;
        Some(part)
    })
}
