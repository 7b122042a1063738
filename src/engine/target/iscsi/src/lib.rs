//! The iSCSI target: portals, login, sessions, data transfer.
