//! Clients over many flows: iSCSI sessions with multipath policies, NFSv3 with nconnect.
