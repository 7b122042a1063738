//! Building answers: a record mark, an RPC header, results.

use plimsoll_fabric::SendQueue;
use plimsoll_wire::rpc::{self, Accepted, Denial, record};
use plimsoll_wire::xdr::{self, Writer, Xdr};

/// A call that gets no results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It reached no procedure, or its arguments make no sense.
    Accepted(Accepted),
    /// Its caller is not taken.
    Denied(Denial),
}

impl From<xdr::Error> for Refused {
    fn from(_: xdr::Error) -> Self {
        Self::Accepted(Accepted::GarbageArguments)
    }
}

/// Appends a whole record.
fn put_record(bytes: &mut Vec<u8>, put: impl FnOnce(&mut Writer<'_>)) {
    let mut out = Writer::new(bytes);
    let at = record::begin(&mut out);
    put(&mut out);
    record::end(&mut out, at, 0);
}

/// Appends the answer with these results.
pub(crate) fn send<'a>(queue: &mut SendQueue, xid: u32, results: &impl Xdr<'a>) {
    queue.append(|bytes| put(bytes, xid, results));
}

/// The answer with these results.
pub(crate) fn build<'a>(xid: u32, results: &impl Xdr<'a>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(320);
    put(&mut bytes, xid, results);
    bytes
}

fn put<'a>(bytes: &mut Vec<u8>, xid: u32, results: &impl Xdr<'a>) {
    put_record(bytes, |out| {
        rpc::accept(out, xid, Accepted::Success);
        out.value(results);
    });
}

/// Appends the answer to a call that gets no results.
pub(crate) fn refuse(queue: &mut SendQueue, xid: u32, refused: Refused) {
    queue.append(|bytes| {
        put_record(bytes, |out| match refused {
            Refused::Accepted(accepted) => rpc::accept(out, xid, accepted),
            Refused::Denied(denial) => rpc::deny(out, xid, denial),
        });
    });
}
