//! libibverbs and librdmacm, opened when they are first wanted, so that the program starts without them.
//!
//! Neither is ever closed.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::io;
use std::sync::OnceLock;

use ibverbs_sys::{
    __be64, _compat_ibv_port_attr, ibv_comp_channel, ibv_context, ibv_cq, ibv_device,
    ibv_device_attr, ibv_gid_entry, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
};
use libloading::Library;
use plimsoll_fabric::rdma::RdmaError;

use crate::ffi::{CmEvent, CmId, ConnParam, EventChannel};

/// What a machine lacks where the libraries are missing.
const ADVICE: &str =
    "install rdma-core's libraries (Debian: libibverbs1 librdmacm1 ibverbs-providers)";

/// A table of functions, each found by its name.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident { $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$about])*
        pub struct $table {
            $(pub $name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl $table {
            #[allow(unsafe_code)]
            fn find(library: &Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the type is that of the function's declaration in rdma-core's headers, and
                        // the library is never closed (`Libraries::open` keeps it for the process' life).
                        $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },
                    )*
                })
            }
        }
    };
}

functions! {
    /// Functions of libibverbs. The data path is not among them: it goes through `ibv_context::ops`.
    Verbs {
        fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device;
        fn ibv_free_device_list(list: *mut *mut ibv_device);
        fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char;
        fn ibv_get_device_guid(device: *mut ibv_device) -> __be64;
        fn ibv_get_device_index(device: *mut ibv_device) -> c_int;
        fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context;
        fn ibv_close_device(context: *mut ibv_context) -> c_int;
        fn ibv_query_device(context: *mut ibv_context, attributes: *mut ibv_device_attr) -> c_int;
        fn ibv_query_port(context: *mut ibv_context, port: u8, attributes: *mut _compat_ibv_port_attr) -> c_int;
        fn _ibv_query_gid_table(context: *mut ibv_context, entries: *mut ibv_gid_entry, max: usize, flags: u32, size: usize) -> isize;
        fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd;
        fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int;
        fn ibv_reg_mr(pd: *mut ibv_pd, address: *mut c_void, len: usize, access: c_int) -> *mut ibv_mr;
        fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int;
        fn ibv_create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel;
        fn ibv_destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int;
        fn ibv_create_cq(context: *mut ibv_context, entries: c_int, about: *mut c_void, channel: *mut ibv_comp_channel, vector: c_int) -> *mut ibv_cq;
        fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int;
        fn ibv_get_cq_event(channel: *mut ibv_comp_channel, cq: *mut *mut ibv_cq, about: *mut *mut c_void) -> c_int;
        fn ibv_ack_cq_events(cq: *mut ibv_cq, count: c_uint);
        fn ibv_create_qp(pd: *mut ibv_pd, attributes: *mut ibv_qp_init_attr) -> *mut ibv_qp;
        fn ibv_modify_qp(qp: *mut ibv_qp, attributes: *mut ibv_qp_attr, mask: c_int) -> c_int;
        fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int;
    }
}

functions! {
    /// Functions of librdmacm.
    ConnectionManager {
        fn rdma_create_event_channel() -> *mut EventChannel;
        fn rdma_destroy_event_channel(channel: *mut EventChannel);
        fn rdma_get_cm_event(channel: *mut EventChannel, event: *mut *mut CmEvent) -> c_int;
        fn rdma_ack_cm_event(event: *mut CmEvent) -> c_int;
        fn rdma_create_id(channel: *mut EventChannel, id: *mut *mut CmId, context: *mut c_void, port_space: c_int) -> c_int;
        fn rdma_destroy_id(id: *mut CmId) -> c_int;
        fn rdma_migrate_id(id: *mut CmId, channel: *mut EventChannel) -> c_int;
        fn rdma_set_option(id: *mut CmId, level: c_int, name: c_int, value: *mut c_void, len: usize) -> c_int;
        fn rdma_bind_addr(id: *mut CmId, address: *mut libc::sockaddr) -> c_int;
        fn rdma_listen(id: *mut CmId, backlog: c_int) -> c_int;
        fn rdma_resolve_addr(id: *mut CmId, from: *mut libc::sockaddr, to: *mut libc::sockaddr, timeout_ms: c_int) -> c_int;
        fn rdma_resolve_route(id: *mut CmId, timeout_ms: c_int) -> c_int;
        fn rdma_create_qp(id: *mut CmId, pd: *mut ibv_pd, attributes: *mut ibv_qp_init_attr) -> c_int;
        fn rdma_destroy_qp(id: *mut CmId);
        fn rdma_connect(id: *mut CmId, terms: *mut ConnParam) -> c_int;
        fn rdma_accept(id: *mut CmId, terms: *mut ConnParam) -> c_int;
        fn rdma_reject(id: *mut CmId, private_data: *const c_void, len: u8) -> c_int;
        fn rdma_disconnect(id: *mut CmId) -> c_int;
    }
}

/// Both libraries.
pub struct Libraries {
    pub verbs: Verbs,
    pub cm: ConnectionManager,
}

pub static OPENED: OnceLock<Libraries> = OnceLock::new();

impl Libraries {
    /// The libraries, opened by the first call that finds them.
    pub fn get() -> Result<&'static Self, RdmaError> {
        if let Some(opened) = OPENED.get() {
            return Ok(opened);
        }
        let libraries = Self::open("libibverbs.so.1", "librdmacm.so.1")?;
        Ok(OPENED.get_or_init(|| libraries))
    }

    /// Opens both and leaves them open: functions of theirs may be called as long as the process lives.
    fn open(verbs: &str, cm: &str) -> Result<Self, RdmaError> {
        let missing = |error: libloading::Error| {
            // Which file or function it was stands in the cause.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            RdmaError::Unavailable(format!("{}; {ADVICE}", cause.unwrap_or(error.to_string())))
        };
        let verbs = Box::leak(Box::new(library(verbs).map_err(missing)?));
        let cm = Box::leak(Box::new(library(cm).map_err(missing)?));
        Ok(Self {
            verbs: Verbs::find(verbs).map_err(missing)?,
            cm: ConnectionManager::find(cm).map_err(missing)?,
        })
    }
}

#[allow(unsafe_code)]
fn library(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers of rdma-core's libraries only set up tables of their own.
    unsafe { Library::new(name) }
}

/// What a C function left in `errno`, or returned in its place.
pub fn failed(call: impl Into<String>, code: c_int) -> RdmaError {
    let source = match code {
        1.. => io::Error::from_raw_os_error(code),
        _ => io::Error::last_os_error(),
    };
    RdmaError::Call { call: call.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_told_with_the_packages_that_bring_it() {
        let error = Libraries::open("libno-such-verbs.so.9", "librdmacm.so.1").err();
        let told = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.starts_with("RDMA cannot be used: libno-such-verbs.so.9"), "{told}");
        assert!(told.contains("libibverbs1 librdmacm1 ibverbs-providers"), "{told}");
    }
}
