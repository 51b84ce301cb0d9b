//! What is mapped in this process. A card in another process reaches memory without the kernel's looking at it first, as
//! it would for other adapters: so what a program registers is looked at here.

use std::{fs, ops::Range};

use crate::failure::{Failure, Outcome};

/// The mappings of this process, a line each.
const MAPS: &str = "/proc/self/maps";

/// Is all of `range` mapped, and may it be written, if it is to be?
pub(crate) fn check(range: Range<usize>, writes: bool) -> Outcome<()> {
    let refused = |errno, why| Failure::Call { errno, why };
    let text = fs::read_to_string(MAPS).map_err(|_| refused(libc::EIO, "reading /proc/self/maps"))?;
    if covered(&text, range, writes) {
        Ok(())
    } else {
        Err(refused(libc::EFAULT, "memory that is not mapped so"))
    }
}

/// Do mappings cover a range without a gap? They are sorted.
fn covered(text: &str, range: Range<usize>, writes: bool) -> bool {
    let mut next = range.start;
    for (mapped, rights) in text.lines().filter_map(mapping) {
        if next >= range.end || mapped.start > next {
            break;
        }
        let suits = rights.starts_with('r') && (!writes || rights.as_bytes().get(1) == Some(&b'w'));
        if mapped.contains(&next) && suits {
            next = mapped.end;
        }
    }
    next >= range.end
}

/// A line: `7f0000000000-7f0000001000 rw-p ...`.
fn mapping(line: &str) -> Option<(Range<usize>, &str)> {
    let mut words = line.split_whitespace();
    let (first, end) = words.next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(first)?..number(end)?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_covered_by_mappings_without_a_gap() {
        let text = "1000-3000 rw-p 0 00:00 0\n3000-4000 r--p 0 00:00 0 /lib/x\n6000-7000 ---p 0\n";
        for (range, writes, expected) in [
            (0x1000..0x3000, true, true),
            (0x2000..0x4000, false, true),
            (0x2000..0x4000, true, false),
            (0x2000..0x5000, false, false),
            (0x0000..0x2000, false, false),
            (0x6000..0x7000, false, false),
            (0x8000..0x9000, false, false),
        ] {
            assert_eq!(covered(text, range.clone(), writes), expected, "{range:x?} {writes}");
        }
    }

    #[test]
    fn memory_of_this_process_may_be_written_and_its_text_may_not() {
        let here = vec![0_u8; 10_000];
        let start = here.as_ptr().addr();
        assert!(check(start..start + 10_000, true).is_ok());
        let text = check as *const ();
        assert!(check(text.addr()..text.addr() + 1, false).is_ok());
        assert_eq!(check(text.addr()..text.addr() + 1, true).unwrap_err().errno(), libc::EFAULT);
        assert_eq!(check(0x1000..0x2000, false).unwrap_err().errno(), libc::EFAULT);
    }
}
