//! The part of `<rdma/rdma_cma.h>` that this crate uses: five structures, their sizes and offsets asserted, and
//! constants. Types of `<infiniband/verbs.h>` come from `ibverbs-sys`.
//!
//! The layouts are those of rdma-core 44 and 55 on 64-bit machines; they are part of librdmacm's binary
//! interface and do not change within `librdmacm.so.1`.

use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of};

use ibverbs_sys::{ibv_comp_channel, ibv_context, ibv_cq, ibv_pd, ibv_qp, ibv_srq};
use libc::sockaddr_storage;

/// `struct rdma_event_channel`.
#[repr(C)]
pub struct EventChannel {
    pub fd: c_int,
}

/// `struct rdma_addr` and the rest of `struct rdma_route`.
#[repr(C)]
pub struct Route {
    pub source: sockaddr_storage,
    pub destination: sockaddr_storage,
    /// GIDs and partition key of InfiniBand.
    infiniband: [u64; 5],
    path_record: *mut c_void,
    paths: c_int,
}

/// `struct rdma_cm_id`: a connection, or what listens for them.
#[repr(C)]
pub struct CmId {
    pub verbs: *mut ibv_context,
    pub channel: *mut EventChannel,
    pub context: *mut c_void,
    pub qp: *mut ibv_qp,
    pub route: Route,
    pub port_space: c_int,
    pub port_num: u8,
    event: *mut CmEvent,
    send_cq_channel: *mut ibv_comp_channel,
    send_cq: *mut ibv_cq,
    receive_cq_channel: *mut ibv_comp_channel,
    receive_cq: *mut ibv_cq,
    srq: *mut ibv_srq,
    pub pd: *mut ibv_pd,
    pub qp_type: c_int,
}

/// `struct rdma_conn_param`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConnParam {
    pub private_data: *const c_void,
    pub private_data_len: u8,
    pub responder_resources: u8,
    pub initiator_depth: u8,
    pub flow_control: u8,
    pub retry_count: u8,
    pub rnr_retry_count: u8,
    pub srq: u8,
    pub qp_num: u32,
}

/// `struct rdma_cm_event`; the union at its end is as long as its datagram variant.
#[repr(C)]
pub struct CmEvent {
    pub id: *mut CmId,
    pub listen_id: *mut CmId,
    pub event: c_int,
    pub status: c_int,
    pub connection: ConnParam,
    datagram: [u64; 4],
}

const _: () = {
    assert!(size_of::<EventChannel>() == 4);
    assert!(size_of::<Route>() == 312);
    assert!(offset_of!(Route, destination) == 128);
    assert!(offset_of!(Route, path_record) == 296);
    assert!(offset_of!(Route, paths) == 304);
    assert!(size_of::<CmId>() == 416);
    assert!(offset_of!(CmId, verbs) == 0);
    assert!(offset_of!(CmId, channel) == 8);
    assert!(offset_of!(CmId, context) == 16);
    assert!(offset_of!(CmId, qp) == 24);
    assert!(offset_of!(CmId, route) == 32);
    assert!(offset_of!(CmId, port_space) == 344);
    assert!(offset_of!(CmId, port_num) == 348);
    assert!(offset_of!(CmId, pd) == 400);
    assert!(offset_of!(CmId, qp_type) == 408);
    assert!(size_of::<ConnParam>() == 24);
    assert!(offset_of!(ConnParam, private_data) == 0);
    assert!(offset_of!(ConnParam, private_data_len) == 8);
    assert!(offset_of!(ConnParam, responder_resources) == 9);
    assert!(offset_of!(ConnParam, initiator_depth) == 10);
    assert!(offset_of!(ConnParam, flow_control) == 11);
    assert!(offset_of!(ConnParam, retry_count) == 12);
    assert!(offset_of!(ConnParam, rnr_retry_count) == 13);
    assert!(offset_of!(ConnParam, srq) == 14);
    assert!(offset_of!(ConnParam, qp_num) == 16);
    assert!(size_of::<CmEvent>() == 80);
    assert!(offset_of!(CmEvent, id) == 0);
    assert!(offset_of!(CmEvent, listen_id) == 8);
    assert!(offset_of!(CmEvent, event) == 16);
    assert!(offset_of!(CmEvent, status) == 20);
    assert!(offset_of!(CmEvent, connection) == 24);
};

/// `RDMA_PS_TCP`.
pub const PORT_SPACE_TCP: c_int = 0x0106;

/// `enum rdma_cm_event_type`.
pub mod event {
    use std::ffi::c_int;

    pub const ADDR_RESOLVED: c_int = 0;
    pub const ADDR_ERROR: c_int = 1;
    pub const ROUTE_RESOLVED: c_int = 2;
    pub const ROUTE_ERROR: c_int = 3;
    pub const CONNECT_REQUEST: c_int = 4;
    pub const CONNECT_ERROR: c_int = 6;
    pub const UNREACHABLE: c_int = 7;
    pub const REJECTED: c_int = 8;
    pub const ESTABLISHED: c_int = 9;
    pub const DISCONNECTED: c_int = 10;
    pub const DEVICE_REMOVAL: c_int = 11;
    pub const ADDR_CHANGE: c_int = 14;
}

/// Options of an id (`RDMA_OPTION_ID`).
pub mod option {
    use std::ffi::c_int;

    pub const LEVEL_ID: c_int = 0;
    /// `int`: an IPv6 address listens for IPv6 only.
    pub const AFONLY: c_int = 2;
    /// `u8`: exponent of the local acknowledge time-out.
    pub const ACK_TIMEOUT: c_int = 3;
}
