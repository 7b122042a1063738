//! A logical unit: a volume as a SCSI direct-access block device of 512-byte blocks.
//!
//! What all nexuses share stands here: the volume, mode parameters, reservations, the state of the medium.
//! Lock order: `reserving` (serialises reservation commands, held while they are made durable), then `state`
//! (short, never held over I/O). The fast path reads `flags` alone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use plimsoll_storage::{BlockStore, StoreError, Volume};
use plimsoll_wire::scsi::{Additional, Sense, SenseKey};

use crate::Completion;
use crate::attachment::{Attachment, READS_DENIED, RESERVATION, RESERVED, WRITES_DENIED};
use crate::copy::CopyResults;
use crate::persistent::Persistent;

/// Bytes of a logical block.
pub const BLOCK_BYTES: u32 = 512;

/// The medium was ejected.
pub(crate) const EJECTED: u32 = 1 << 1;
/// A sanitize operation runs.
pub(crate) const SANITIZING: u32 = 1 << 2;
/// A sanitize operation failed and left the unit unusable.
pub(crate) const SANITIZE_FAILED: u32 = 1 << 3;
/// Served read-only.
pub(crate) const READ_ONLY: u32 = 1 << 4;
/// SWP of the control mode page.
pub(crate) const SOFTWARE_WRITE_PROTECT: u32 = 1 << 5;
/// WCE of the caching mode page is off: every write is made durable.
pub(crate) const WRITE_THROUGH: u32 = 1 << 6;
/// D_SENSE of the control mode page.
pub(crate) const DESCRIPTOR_SENSE: u32 = 1 << 7;

/// Flags that MODE SELECT changes.
pub(crate) const MODE: u32 = SOFTWARE_WRITE_PROTECT | WRITE_THROUGH | DESCRIPTOR_SENSE;

/// What can be set per unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitSettings {
    /// Refuse writes (WP in the mode header).
    pub read_only: bool,
    /// A removable medium: START STOP UNIT can eject it. Arrays have fixed ones.
    pub removable: bool,
    /// LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT: 0, or 3 to show 4 KiB physical blocks (512e).
    pub physical_exponent: u8,
    /// Bytes that SANITIZE OVERWRITE writes per second, so that it leaves the host to other volumes.
    pub overwrite_bytes_per_second: u64,
}

impl Default for UnitSettings {
    fn default() -> Self {
        Self {
            read_only: false,
            removable: false,
            physical_exponent: 0,
            overwrite_bytes_per_second: 64 << 20,
        }
    }
}

/// What changes under the lock.
#[derive(Debug, Default)]
pub(crate) struct UnitState {
    /// Every nexus that has seen the unit.
    attachments: Vec<Weak<Attachment>>,
    /// The nexus that holds the unit by RESERVE(6) or (10).
    pub reserved_by: Option<u64>,
    /// Nexuses that prevent the removal of the medium.
    pub prevented_by: Vec<u64>,
    /// Persistent reservations.
    pub persistent: Persistent,
    /// Results of copy commands.
    pub copies: CopyResults,
    /// Progress of a sanitize operation, in 65,536ths.
    pub sanitize_progress: u16,
}

/// A volume as a SCSI direct-access block device.
#[derive(Debug)]
pub struct LogicalUnit {
    volume: Arc<Volume>,
    settings: UnitSettings,
    flags: AtomicU32,
    state: Mutex<UnitState>,
    reserving: Mutex<()>,
}

impl LogicalUnit {
    /// A unit over a block volume; reservations that were to survive a power loss are restored.
    pub fn new(volume: Arc<Volume>, settings: UnitSettings) -> Arc<Self> {
        let persistent = volume.saved_reservations().map_or_else(Persistent::default, |saved| {
            Persistent::decode(&saved).unwrap_or_else(|| {
                tracing::error!(
                    volume = volume.name(),
                    "saved persistent reservations cannot be read; registrations are lost"
                );
                Persistent::default()
            })
        });
        Arc::new(Self {
            volume,
            settings,
            flags: AtomicU32::new(if settings.read_only { READ_ONLY } else { 0 }),
            state: Mutex::new(UnitState { persistent, ..UnitState::default() }),
            reserving: Mutex::default(),
        })
    }

    /// The volume: for admission and names.
    pub fn volume(&self) -> &Arc<Volume> {
        &self.volume
    }

    /// Where the data lives.
    pub fn store(&self) -> &Arc<BlockStore> {
        self.volume.store()
    }

    /// Whether its bytes are those of a unit of a remote target.
    pub fn is_remote(&self) -> bool {
        self.store().remote().is_some()
    }

    /// Whether it tells that it is thin provisioned: what a remote unit allocates is not known here.
    pub fn is_thin(&self) -> bool {
        !self.is_remote()
    }

    /// Logical blocks at this moment.
    pub fn blocks(&self) -> u64 {
        self.volume.size_bytes() / u64::from(BLOCK_BYTES)
    }

    /// How it was set up.
    pub fn settings(&self) -> UnitSettings {
        self.settings
    }

    /// Makes everything written so far durable; blocks.
    pub fn flush(&self) -> Completion {
        match self.store().flush() {
            Ok(()) => Completion::good(),
            Err(error) => self.write_failed(&error),
        }
    }

    /// The completion of a READ whose store failed.
    pub fn read_failed(&self, error: &StoreError) -> Completion {
        self.check(&read_sense(error))
    }

    /// The completion of a WRITE whose store failed.
    pub fn write_failed(&self, error: &StoreError) -> Completion {
        self.check(&write_sense(error))
    }

    /// CHECK CONDITION with this sense, in the format that the control mode page asks for.
    pub fn check(&self, sense: &Sense) -> Completion {
        Completion::check(sense, self.has(DESCRIPTOR_SENSE))
    }

    /// The volume was resized: every nexus gets 2A/09.
    pub fn resized(&self) {
        self.attention_all(Additional::CAPACITY_DATA_CHANGED);
    }

    /// The pool passed its soft threshold: every nexus gets 38/07.
    pub fn threshold_reached(&self) {
        self.attention_all(Additional::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED);
    }

    fn attention_all(&self, additional: Additional) {
        for attachment in self.attachments() {
            attachment.attention(additional);
        }
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Acquire)
    }

    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    /// Replaces the flags of `mask`; returns those before.
    pub(crate) fn set_flags(&self, mask: u32, flags: u32) -> u32 {
        let replace = |old: u32| Some(old & !mask | flags & mask);
        match self.flags.fetch_update(Ordering::AcqRel, Ordering::Acquire, replace) {
            Ok(old) | Err(old) => old,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, UnitState> {
        // Each holder leaves the state whole at every step, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serialises commands that change reservations.
    pub(crate) fn reserving(&self) -> MutexGuard<'_, ()> {
        self.reserving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a nexus.
    pub(crate) fn attach(&self, attachment: &Arc<Attachment>) {
        let mut state = self.state();
        state.attachments.retain(|known| known.strong_count() > 0);
        state.attachments.push(Arc::downgrade(attachment));
        attachment.set_flags(RESERVATION, state.reservation_flags(attachment));
    }

    /// Every nexus that has seen the unit and is still there.
    pub(crate) fn attachments(&self) -> Vec<Arc<Attachment>> {
        self.state().attachments.iter().filter_map(Weak::upgrade).collect()
    }

    /// Every such nexus but this one.
    pub(crate) fn others(&self, nexus: u64) -> Vec<Arc<Attachment>> {
        let mut all = self.attachments();
        all.retain(|attachment| attachment.nexus.id != nexus);
        all
    }

    /// The nexus is gone: what it held by RESERVE and PREVENT ends (SPC-2 7.21, SBC-4 5.11).
    pub(crate) fn nexus_lost(&self, nexus: u64) {
        let mut state = self.state();
        state.prevented_by.retain(|&holder| holder != nexus);
        if state.reserved_by == Some(nexus) {
            state.reserved_by = None;
            state.refresh_reservations();
        }
    }

    /// LOGICAL UNIT RESET (SAM-5 6.3.3), but for the tasks of the nexus that asked for it.
    pub(crate) fn reset(&self, by: u64) {
        let mut state = self.state();
        state.reserved_by = None;
        state.prevented_by.clear();
        state.refresh_reservations();
        drop(state);
        self.set_flags(MODE, 0);
        for attachment in self.attachments() {
            attachment.attention(Additional::BUS_DEVICE_RESET_OCCURRED);
            if attachment.nexus.id != by {
                attachment.abort_tasks();
            }
        }
    }
}

impl UnitState {
    /// The reservation flags of a nexus.
    pub fn reservation_flags(&self, attachment: &Attachment) -> u32 {
        if self.reserved_by.is_some_and(|holder| holder != attachment.nexus.id) {
            return RESERVED;
        }
        match self.persistent.denies(&attachment.nexus) {
            None => 0,
            Some(kind) if kind.allows_reads() => WRITES_DENIED,
            Some(_) => WRITES_DENIED | READS_DENIED,
        }
    }

    /// Brings the flags of all nexuses up to date after a change of reservations.
    pub fn refresh_reservations(&self) {
        for attachment in self.attachments.iter().filter_map(Weak::upgrade) {
            attachment.set_flags(RESERVATION, self.reservation_flags(&attachment));
        }
    }
}

/// Sense for a read that failed in the store.
pub(crate) fn read_sense(error: &StoreError) -> Sense {
    match error {
        StoreError::OutOfRange { .. } => Sense::illegal(Additional::LBA_OUT_OF_RANGE),
        _ => {
            tracing::error!(%error, "read failed");
            Sense::new(SenseKey::MediumError, Additional::UNRECOVERED_READ_ERROR)
        }
    }
}

/// Sense for a write or flush that failed in the store (SBC-4 4.7.3.6 for a full pool).
pub(crate) fn write_sense(error: &StoreError) -> Sense {
    match error {
        StoreError::OutOfRange { .. } => Sense::illegal(Additional::LBA_OUT_OF_RANGE),
        // Initiators send an aborted command again.
        StoreError::Busy => Sense::new(SenseKey::AbortedCommand, Additional::new(0, 0)),
        error if error.is_no_space() => {
            Sense::new(SenseKey::DataProtect, Additional::SPACE_ALLOCATION_FAILED_WRITE_PROTECT)
        }
        _ => {
            tracing::error!(%error, "write failed");
            Sense::new(SenseKey::MediumError, Additional::WRITE_ERROR)
        }
    }
}
