//! External Data Representation (RFC 4506): big-endian words of four bytes, variable data padded to four.
//!
//! [`Reader`] borrows from the receive buffer and never allocates from a length it was given: every
//! variable-length item is capped by its caller and by the bytes that are there. [`Writer`] appends to a
//! buffer of the caller. [`Xdr`] is implemented by every type of ONC RPC, MOUNT, portmap and NFS, so that
//! both ends of a protocol share one description.
//!
//! Bytes used for padding are written as zero and not looked at when read (RFC 4506 section 3).

/// Why bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data ends inside an item.
    #[error("xdr data ends early: {needed} bytes needed, {available} left")]
    Truncated {
        /// Bytes the item needs.
        needed: usize,
        /// Bytes that were left.
        available: usize,
    },
    /// A variable-length item is longer than its limit.
    #[error("xdr item {what} is {len} bytes or elements long, the limit is {max}")]
    TooLong {
        /// Which item.
        what: &'static str,
        /// The length it claims.
        len: usize,
        /// The length it may have.
        max: usize,
    },
    /// A word holds a value that its type does not have.
    #[error("xdr value {value} is not a {what}")]
    Value {
        /// The type.
        what: &'static str,
        /// The value found.
        value: u32,
    },
}

/// Result of reading.
pub type Result<T> = std::result::Result<T, Error>;

/// A type with an XDR form.
pub trait Xdr<'a>: Sized {
    /// Reads one value.
    fn get(from: &mut Reader<'a>) -> Result<Self>;
    /// Appends the value.
    fn put(&self, out: &mut Writer<'_>);
}

/// How many bytes of padding follow `len` bytes of opaque data.
pub const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// Zeroes to pad with: `&PADDING[..padding(len)]`.
pub const PADDING: [u8; 3] = [0; 3];

/// Reads XDR items from a slice, front to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader over all of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Number of bytes not read yet.
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(Error::Truncated { needed: count, available: self.rest.len() }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(Error::Truncated { needed: N, available: self.rest.len() }),
        }
    }

    /// Unsigned integer (RFC 4506 section 4.2).
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Unsigned hyper integer (section 4.5).
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Boolean (section 4.4): any value but 0 and 1 is an error.
    pub fn bool(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(Error::Value { what: "boolean", value }),
        }
    }

    /// Fixed-length opaque data (section 4.9) of `N` bytes.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.array()?;
        self.take(padding(N))?;
        Ok(bytes)
    }

    /// Variable-length opaque data or a string (sections 4.10 and 4.11) of at most `max` bytes.
    pub fn opaque(&mut self, what: &'static str, max: usize) -> Result<&'a [u8]> {
        let len = self.length(what, max)?;
        let bytes = self.take(len)?;
        self.take(padding(len))?;
        Ok(bytes)
    }

    /// The length word of a variable-length item or array, not above `max`.
    pub fn length(&mut self, what: &'static str, max: usize) -> Result<usize> {
        let len = self.u32()? as usize;
        if len > max { Err(Error::TooLong { what, len, max }) } else { Ok(len) }
    }

    /// A value of a type with an XDR form.
    pub fn value<T: Xdr<'a>>(&mut self) -> Result<T> {
        T::get(self)
    }
}

/// Appends XDR items to a buffer of the caller, such as the header buffer of a send queue.
#[derive(Debug)]
pub struct Writer<'b> {
    bytes: &'b mut Vec<u8>,
}

impl<'b> Writer<'b> {
    /// A writer that appends to `bytes`.
    pub const fn new(bytes: &'b mut Vec<u8>) -> Self {
        Self { bytes }
    }

    /// Length of the buffer, including what stood in it before.
    #[expect(clippy::len_without_is_empty, reason = "a position, not a collection")]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Cuts back to an earlier [`Writer::len`].
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Unsigned integer (RFC 4506 section 4.2).
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Unsigned hyper integer (section 4.5).
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Boolean (section 4.4).
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Fixed-length opaque data (section 4.9).
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(&PADDING[..padding(bytes.len())]);
    }

    /// Variable-length opaque data or a string (sections 4.10 and 4.11).
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.fixed(bytes);
    }

    /// The length word of a variable-length item or array.
    #[expect(clippy::cast_possible_truncation, reason = "no message of 4 GiB is ever built")]
    pub fn length(&mut self, len: usize) {
        debug_assert!(u32::try_from(len).is_ok());
        self.u32(len as u32);
    }

    /// A value of a type with an XDR form.
    pub fn value<'a, T: Xdr<'a>>(&mut self, value: &T) {
        value.put(self);
    }

    /// Bytes that are XDR already.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Overwrites a word that was written at `at`, such as a record mark.
    pub fn patch(&mut self, at: usize, value: u32) {
        if let Some(word) = self.bytes.get_mut(at..at + 4) {
            word.copy_from_slice(&value.to_be_bytes());
        }
    }
}

impl Xdr<'_> for u32 {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.u32()
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.u32(*self);
    }
}

impl Xdr<'_> for u64 {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.u64()
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.u64(*self);
    }
}

impl Xdr<'_> for bool {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.bool()
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.bool(*self);
    }
}

/// Void (section 4.16).
impl Xdr<'_> for () {
    fn get(_: &mut Reader<'_>) -> Result<Self> {
        Ok(())
    }
    fn put(&self, _: &mut Writer<'_>) {}
}

/// Fixed-length opaque data (section 4.9).
impl<const N: usize> Xdr<'_> for [u8; N] {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.fixed()
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.fixed(self);
    }
}

/// Optional data (section 4.19).
impl<'a, T: Xdr<'a>> Xdr<'a> for Option<T> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        if from.bool()? { T::get(from).map(Some) } else { Ok(None) }
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.bool(self.is_some());
        if let Some(value) = self {
            value.put(out);
        }
    }
}

/// A list chained by optional data (`entry *next`), as MOUNT, portmap and READDIR have them. Its size is
/// bounded by the message it stands in: each element takes at least the word that announces it.
impl<'a, T: Xdr<'a>> Xdr<'a> for Vec<T> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        let mut list = Vec::new();
        while from.bool()? {
            list.push(T::get(from)?);
        }
        Ok(list)
    }
    fn put(&self, out: &mut Writer<'_>) {
        for value in self {
            out.bool(true);
            value.put(out);
        }
        out.bool(false);
    }
}

/// Implements [`Xdr`] for structures: the fields in the order of the wire.
macro_rules! xdr_fields {
    ($($name:ident $(<$life:lifetime>)? { $($field:ident),* $(,)? })*) => {$(
        xdr_fields!(@one $name $(<$life>)? { $($field),* });
    )*};
    (@one $name:ident <$life:lifetime> { $($field:ident),* }) => {
        impl<$life> $crate::xdr::Xdr<$life> for $name<$life> {
            fn get(from: &mut $crate::xdr::Reader<$life>) -> $crate::xdr::Result<Self> {
                Ok(Self { $($field: $crate::xdr::Xdr::get(from)?),* })
            }
            fn put(&self, out: &mut $crate::xdr::Writer<'_>) {
                $($crate::xdr::Xdr::put(&self.$field, out);)*
            }
        }
    };
    (@one $name:ident { $($field:ident),* }) => {
        impl $crate::xdr::Xdr<'_> for $name {
            fn get(from: &mut $crate::xdr::Reader<'_>) -> $crate::xdr::Result<Self> {
                Ok(Self { $($field: $crate::xdr::Xdr::get(from)?),* })
            }
            fn put(&self, out: &mut $crate::xdr::Writer<'_>) {
                $($crate::xdr::Xdr::put(&self.$field, out);)*
            }
        }
    };
}

/// Defines an enumeration (section 4.3) with [`Xdr`] and `from_u32`; unknown values are errors.
macro_rules! xdr_enum {
    ($(#[$meta:meta])* $name:ident $what:literal { $($(#[$vmeta:meta])* $variant:ident = $value:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant = $value),* }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value with this number.
            pub const fn from_u32(value: u32) -> Option<Self> {
                match value {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl $crate::xdr::Xdr<'_> for $name {
            fn get(from: &mut $crate::xdr::Reader<'_>) -> $crate::xdr::Result<Self> {
                let value = from.u32()?;
                Self::from_u32(value).ok_or($crate::xdr::Error::Value { what: $what, value })
            }
            fn put(&self, out: &mut $crate::xdr::Writer<'_>) {
                out.u32(*self as u32);
            }
        }
    };
}

/// Defines a borrowed string or opaque item with its own limit.
macro_rules! xdr_opaque {
    ($(#[$meta:meta])* $name:ident $what:literal $max:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name<'a>(pub &'a [u8]);

        impl<'a> $crate::xdr::Xdr<'a> for $name<'a> {
            fn get(from: &mut $crate::xdr::Reader<'a>) -> $crate::xdr::Result<Self> {
                from.opaque($what, $max).map(Self)
            }
            fn put(&self, out: &mut $crate::xdr::Writer<'_>) {
                out.opaque(self.0);
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.escape_ascii())
            }
        }
    };
}

pub(crate) use {xdr_enum, xdr_fields, xdr_opaque};

#[cfg(test)]
pub(crate) mod check {
    //! What every type with an XDR form must stand: round trip, truncation anywhere, and any other bytes.
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The XDR form of a value.
    pub(crate) fn encode<'a, T: Xdr<'a>>(value: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.put(&mut Writer::new(&mut bytes));
        bytes
    }

    /// Reads back what was written, to the last byte; every shorter prefix is `Truncated`.
    pub(crate) fn round_trip<'a, T>(value: &T, bytes: &'a mut Vec<u8>)
    where
        T: Xdr<'a> + PartialEq + std::fmt::Debug,
    {
        value.put(&mut Writer::new(bytes));
        assert_eq!(bytes.len() % 4, 0, "{value:?} is not a whole number of words");
        for len in 0..bytes.len() {
            let mut from = Reader::new(&bytes[..len]);
            let result = T::get(&mut from);
            assert!(
                matches!(result, Err(Error::Truncated { .. })),
                "{len} of {} bytes gave {result:?}",
                bytes.len()
            );
        }
        let mut from = Reader::new(bytes);
        assert_eq!(T::get(&mut from).as_ref(), Ok(value));
        assert_eq!(from.remaining(), 0, "bytes left after {value:?}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::{check::encode, *};

    #[test]
    fn rfc4506_4_2_and_4_5_integers_are_big_endian() {
        assert_eq!(encode(&0x0102_0304_u32), [1, 2, 3, 4]);
        assert_eq!(encode(&0x0102_0304_0506_0708_u64), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Reader::new(&[0xff, 0, 0, 1]).u32(), Ok(0xff00_0001));
    }

    #[test]
    fn rfc4506_4_4_a_boolean_is_zero_or_one() {
        assert_eq!(encode(&true), [0, 0, 0, 1]);
        assert_eq!(Reader::new(&[0; 4]).bool(), Ok(false));
        let two = Reader::new(&[0, 0, 0, 2]).bool();
        assert_eq!(two, Err(Error::Value { what: "boolean", value: 2 }));
    }

    #[test]
    fn rfc4506_4_9_fixed_opaque_is_padded() {
        assert_eq!(encode(&[7_u8; 5]), [7, 7, 7, 7, 7, 0, 0, 0]);
        let mut from = Reader::new(&[7, 7, 7, 7, 7, 0, 0, 0]);
        assert_eq!(from.fixed::<5>(), Ok([7; 5]));
        assert_eq!(from.remaining(), 0);
    }

    /// The file of RFC 4506 section 7, as its table of bytes spells it out.
    #[test]
    fn rfc4506_7_the_example_file() {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        out.opaque(b"sillyprog");
        out.u32(2);
        out.opaque(b"lisp");
        out.opaque(b"john");
        out.opaque(b"(quit)");
        let expected =
            b"\0\0\0\x09sillyprog\0\0\0\0\0\0\x02\0\0\0\x04lisp\0\0\0\x04john\0\0\0\x06(quit)\0\0";
        assert_eq!(bytes, expected);
        let mut from = Reader::new(&bytes);
        assert_eq!(from.opaque("name", 255), Ok(&b"sillyprog"[..]));
        assert_eq!(from.u32(), Ok(2));
        assert_eq!(from.opaque("creator", 255), Ok(&b"lisp"[..]));
        assert_eq!(from.opaque("owner", 255), Ok(&b"john"[..]));
        assert_eq!(from.opaque("data", 65535), Ok(&b"(quit)"[..]));
        assert_eq!(from.remaining(), 0);
    }

    #[test]
    fn rfc4506_4_10_a_length_is_capped_before_it_is_believed() {
        let claim = [0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4];
        let error = Reader::new(&claim).opaque("thing", 64).unwrap_err();
        assert_eq!(error, Error::TooLong { what: "thing", len: 0xffff_ffff, max: 64 });
        let error = Reader::new(&claim).opaque("thing", usize::MAX).unwrap_err();
        assert_eq!(error, Error::Truncated { needed: 0xffff_ffff, available: 4 });
    }

    #[test]
    fn rfc4506_4_19_a_list_chained_by_optional_data() {
        let list = vec![1_u32, 2];
        let bytes = encode(&list);
        assert_eq!(bytes, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0]);
        check::round_trip(&list, &mut Vec::new());
        check::round_trip(&Some(7_u32), &mut Vec::new());
        check::round_trip(&None::<u32>, &mut Vec::new());
    }

    proptest! {
        #[test]
        fn rfc4506_4_10_opaque_of_any_length(data in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = Vec::new();
            Writer::new(&mut bytes).opaque(&data);
            prop_assert_eq!(bytes.len(), 4 + data.len() + padding(data.len()));
            let mut from = Reader::new(&bytes);
            prop_assert_eq!(from.opaque("data", 300), Ok(&data[..]));
            prop_assert_eq!(from.remaining(), 0);
        }
    }
}
