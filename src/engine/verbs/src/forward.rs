//! Stand-ins for libibverbs, for crates that were linked against it.
//!
//! The crates `ibverbs` and `ibverbs-sys` ask the linker for libibverbs. Every function of it that they refer
//! to is defined here instead, forwarding to the opened library: the linker finds nothing missing and leaves
//! the library out of the program's needs. These definitions are hidden: the dynamic linker does not see them,
//! so that librdmacm and the drivers of adapters keep finding libibverbs' own. (Should one be missing here, the
//! library is needed again, which a test sees.)

#![allow(unsafe_code)] // All of it is foreign functions; the lint has no finer place for an assembler directive.

use std::arch::global_asm;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use ibverbs_sys::{
    __be64, _compat_ibv_port_attr, ibv_comp_channel, ibv_context, ibv_cq, ibv_device,
    ibv_gid_entry, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
};

use crate::library::OPENED;

/// Defines functions of libibverbs, each with what it returns while the library is not opened.
macro_rules! forward {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $absent:expr;)*) => {
        $(
            global_asm!(concat!(".hidden ", stringify!($name)));

            // SAFETY: no other definition of this name is linked: `ibverbs-sys` only declares it, and
            // libibverbs itself is not among the libraries of the program.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                match OPENED.get() {
                    // SAFETY: the caller keeps the contract of the function of this name.
                    Some(opened) => unsafe { (opened.verbs.$name)($($argument),*) },
                    None => $absent,
                }
            }
        )*
    };
}

forward! {
    fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device = null_mut();
    fn ibv_free_device_list(list: *mut *mut ibv_device) = ();
    fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char = null_mut();
    fn ibv_get_device_guid(device: *mut ibv_device) -> __be64 = 0;
    fn ibv_get_device_index(device: *mut ibv_device) -> c_int = -1;
    fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context = null_mut();
    fn ibv_close_device(context: *mut ibv_context) -> c_int = libc::ENOSYS;
    fn ibv_query_port(context: *mut ibv_context, port: u8, attributes: *mut _compat_ibv_port_attr) -> c_int = libc::ENOSYS;
    fn _ibv_query_gid_table(context: *mut ibv_context, entries: *mut ibv_gid_entry, max: usize, flags: u32, size: usize) -> isize = -(libc::ENOSYS as isize);
    fn ibv_alloc_pd(context: *mut ibv_context) -> *mut ibv_pd = null_mut();
    fn ibv_dealloc_pd(pd: *mut ibv_pd) -> c_int = libc::ENOSYS;
    fn ibv_create_cq(context: *mut ibv_context, entries: c_int, about: *mut c_void, channel: *mut ibv_comp_channel, vector: c_int) -> *mut ibv_cq = null_mut();
    fn ibv_destroy_cq(cq: *mut ibv_cq) -> c_int = libc::ENOSYS;
    fn ibv_create_qp(pd: *mut ibv_pd, attributes: *mut ibv_qp_init_attr) -> *mut ibv_qp = null_mut();
    fn ibv_modify_qp(qp: *mut ibv_qp, attributes: *mut ibv_qp_attr, mask: c_int) -> c_int = libc::ENOSYS;
    fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int = libc::ENOSYS;
}
