//! An attachment to a memory volume for unit tests; tests of whole commands stand in `tests/`.

use std::sync::Arc;

use plimsoll_storage::{Kind, Limits, Volume, VolumeSettings};
use plimsoll_wire::scsi::TransportId;

use crate::attachment::{Attachment, NexusIdentity};
use crate::{LogicalUnit, UnitSettings};

/// A bare attachment.
pub(crate) fn attachment() -> Attachment {
    let settings = VolumeSettings {
        name: "volume".to_owned(),
        kind: Kind::Block,
        size_bytes: 1 << 20,
        limits: Limits::default(),
        remote: None,
    };
    let volume = Volume::memory(settings, "0123456789abcdef");
    let nexus = NexusIdentity {
        id: 0,
        initiator: TransportId { name: "iqn.a".to_owned(), isid: None },
        device: Arc::from("iqn.b"),
        relative_port: 1,
        group: 1,
        notify: Box::new(|_| {}),
    };
    let unit = LogicalUnit::new(volume, UnitSettings::default());
    Attachment::new(unit, Arc::new(nexus), 0)
}
