//! The mappings of a file, made when first needed and kept until the store is closed.
//!
//! Windows of [`WINDOW_BYTES`]: 64 TiB of touched data stay within the 65,530 mappings that the kernel gives a
//! process. A window may reach beyond the end of the file, so a file grows without a new mapping.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::GRAIN_BYTES;
use super::grains::Grains;
use super::os::Mapping;

/// Bytes of one mapping.
const WINDOW_BYTES: u64 = 1 << 30;

/// The windows of one file.
pub(super) struct Windows {
    slots: Grains<AtomicPtr<Mapping>>,
}

impl Windows {
    pub fn new() -> Self {
        Self { slots: Grains::new() }
    }

    /// The window that holds a grain, and where in it the grain begins; `None` when the kernel gives no more
    /// mappings.
    #[allow(unsafe_code)]
    pub fn of(&self, file: &File, grain: u64) -> Option<(Arc<Mapping>, usize)> {
        let offset = grain * GRAIN_BYTES as u64;
        let slot = self.slots.touch(offset / WINDOW_BYTES)?;
        let mut pointer = slot.load(Ordering::Acquire);
        if pointer.is_null() {
            let start = offset - offset % WINDOW_BYTES;
            let mapping = Mapping::new(file, start, WINDOW_BYTES as usize).ok()?;
            let new = Arc::into_raw(Arc::new(mapping)).cast_mut();
            match slot.compare_exchange(
                std::ptr::null_mut(),
                new,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => pointer = new,
                Err(winner) => {
                    // SAFETY: `new` came from `into_raw` just now and was not published.
                    drop(unsafe { Arc::from_raw(new) });
                    pointer = winner;
                }
            }
        }
        // SAFETY: a pointer in the table came from `Arc::into_raw`; the table keeps that count until it is
        // dropped, which needs `&mut self`.
        let window = unsafe {
            Arc::increment_strong_count(pointer);
            Arc::from_raw(pointer)
        };
        Some((window, (offset % WINDOW_BYTES) as usize))
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.slots.each(|_, slot| {
            let pointer = slot.swap(std::ptr::null_mut(), Ordering::Relaxed);
            if !pointer.is_null() {
                // SAFETY: the table owned one count from `Arc::into_raw`; it was taken out just now.
                #[allow(unsafe_code)]
                drop(unsafe { Arc::from_raw(pointer) });
            }
        });
    }
}
