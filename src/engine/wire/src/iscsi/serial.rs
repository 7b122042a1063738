//! Serial numbers that wrap: CmdSN, StatSN, DataSN (RFC 7143 section 4.2.2.1, RFC 1982 with 32 bits).
//!
//! Two numbers compare by the sign of their distance, so a window that crosses zero works as any other.

/// Whether `a` comes before `b`.
#[inline]
pub fn less(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes before `b` or is `b`.
#[inline]
pub fn less_or_equal(a: u32, b: u32) -> bool {
    a == b || less(a, b)
}

/// Whether `number` lies in the window `first ..= last`. The window is empty when `last` is `first - 1`,
/// which is how MaxCmdSN closes it.
#[inline]
pub fn in_window(number: u32, first: u32, last: u32) -> bool {
    less_or_equal(first, number) && less_or_equal(number, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc7143_4_2_2_1_serial_numbers_wrap() {
        assert!(less(0xffff_ffff, 0));
        assert!(!less(0, 0xffff_ffff));
        assert!(less(0x7fff_ffff, 0x8000_0000));
        assert!(less_or_equal(5, 5) && !less(5, 5));
    }

    #[test]
    fn rfc7143_4_2_2_1_command_window_over_the_wrap() {
        assert!(in_window(0xffff_fffe, 0xffff_fffe, 2));
        assert!(in_window(1, 0xffff_fffe, 2));
        assert!(!in_window(3, 0xffff_fffe, 2));
        assert!(!in_window(0xffff_fffd, 0xffff_fffe, 2));
        assert!(!in_window(7, 7, 6), "MaxCmdSN = ExpCmdSN - 1 closes the window");
    }
}
