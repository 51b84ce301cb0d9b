//! Names for people, rates, and files: what needs no card.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{
    ffi::{CStr, OsStr},
    fs::File,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use libc::{c_char, c_int};

use crate::{
    failure::{Failure, invalid, number},
    handle::given,
};

const UNKNOWN: &CStr = c"unknown";

fn name(table: &[&'static CStr], code: c_int) -> *const c_char {
    let found = usize::try_from(code).ok().and_then(|code| table.get(code));
    found.unwrap_or(&UNKNOWN).as_ptr()
}

/// What became of a request, in words.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_wc_status_str(status: c_int) -> *const c_char {
    let table = [
        c"success",
        c"local length error",
        c"local QP operation error",
        c"local EE context operation error",
        c"local protection error",
        c"Work Request Flushed Error",
        c"memory management operation error",
        c"bad response error",
        c"local access error",
        c"remote invalid request error",
        c"remote access error",
        c"remote operation error",
        c"transport retry counter exceeded",
        c"RNR retry counter exceeded",
        c"local RDD violation error",
        c"remote invalid RD request",
        c"aborted error",
        c"invalid EE context number",
        c"invalid EE context state",
        c"fatal error",
        c"response timeout error",
        c"general error",
        c"TM error",
        c"TM software rendezvous",
    ];
    name(&table, status)
}

/// The kind of an adapter, in words.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_node_type_str(kind: c_int) -> *const c_char {
    let table = [
        UNKNOWN,
        c"InfiniBand channel adapter",
        c"InfiniBand switch",
        c"InfiniBand router",
        c"iWARP NIC",
        c"usNIC",
        c"usNIC UDP",
        c"unspecified",
    ];
    name(&table, kind)
}

/// The state of a port, in words.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_port_state_str(state: c_int) -> *const c_char {
    let table = [c"no state change (NOP)", c"down", c"init", c"armed", c"active", c"active defer"];
    name(&table, state)
}

/// An event, in words.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_event_type_str(event: c_int) -> *const c_char {
    let table = [
        c"CQ error",
        c"local work queue catastrophic error",
        c"invalid request local work queue error",
        c"local access violation work queue error",
        c"communication established",
        c"send queue drained",
        c"path migrated",
        c"path migration request error",
        c"local catastrophic error",
        c"port active",
        c"port error",
        c"LID change",
        c"P_Key change",
        c"SM change",
        c"SRQ catastrophic error",
        c"SRQ limit reached",
        c"last WQE reached",
        c"client reregistration",
        c"GID table change",
        c"WQ fatal",
    ];
    name(&table, event)
}

/// Rates: code, megabits a second, multiple of 2.5 Gb/s where it is a whole one.
const RATES: [(c_int, c_int, c_int); 21] = [
    (2, 2_500, 1),
    (5, 5_000, 2),
    (3, 10_000, 4),
    (6, 20_000, 8),
    (4, 30_000, 12),
    (7, 40_000, 16),
    (8, 60_000, 24),
    (9, 80_000, 32),
    (10, 120_000, 48),
    (11, 14_062, 5),
    (12, 56_250, 22),
    (13, 112_500, 45),
    (14, 168_750, 67),
    (15, 25_781, 10),
    (16, 103_125, 41),
    (17, 206_250, 82),
    (18, 309_375, 123),
    (19, 28_125, 11),
    (20, 53_125, 21),
    (21, 425_000, 170),
    (22, 637_500, 255),
];

/// The code of the fastest rate that an adapter has.
const FASTEST: c_int = 0;

/// A rate as a multiple of 2.5 Gb/s; -1 for none.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_rate_to_mult(rate: c_int) -> c_int {
    RATES.iter().find(|(code, ..)| *code == rate).map_or(-1, |(_, _, multiple)| *multiple)
}

/// The rate of a multiple of 2.5 Gb/s.
#[unsafe(no_mangle)]
pub extern "C" fn mult_to_ibv_rate(multiple: c_int) -> c_int {
    RATES.iter().find(|(.., other)| *other == multiple).map_or(FASTEST, |(code, ..)| *code)
}

/// A rate in megabits a second; -1 for none.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_rate_to_mbps(rate: c_int) -> c_int {
    RATES.iter().find(|(code, ..)| *code == rate).map_or(-1, |(_, megabits, _)| *megabits)
}

/// The rate of so many megabits a second.
#[unsafe(no_mangle)]
pub extern "C" fn mbps_to_ibv_rate(megabits: c_int) -> c_int {
    RATES.iter().find(|(_, other, _)| *other == megabits).map_or(FASTEST, |(code, ..)| *code)
}

/// Where the system tells of its devices.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_sysfs_path() -> *const c_char {
    c"/sys".as_ptr()
}

/// Reads a file of a folder, without the end of its line; how many bytes. Cards have no such files, other devices may.
///
/// # Safety
/// `folder` and `file` are strings, `buffer` is a place for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_read_sysfs_file(
    folder: *const c_char,
    file: *const c_char,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    number("ibv_read_sysfs_file", || {
        // SAFETY: by contract.
        let [folder, file] = unsafe { [CStr::from_ptr(given(folder)?), CStr::from_ptr(given(file)?)] };
        given(buffer)?;
        let room = size.checked_sub(1).ok_or(invalid("no room for the end of a string"))?;
        let path = Path::new(OsStr::from_bytes(folder.to_bytes())).join(OsStr::from_bytes(file.to_bytes()));
        let failed = |error: std::io::Error| Failure::Call {
            errno: error.raw_os_error().unwrap_or(libc::EIO),
            why: "reading a file of sysfs",
        };
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(room as u64).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        // SAFETY: by contract; at most `size` bytes with the one behind the last.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            buffer.cast::<u8>().add(bytes.len()).write(0);
        }
        Ok(c_int::try_from(bytes.len()).unwrap_or(c_int::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_back_by_their_codes() {
        for (code, megabits, _) in RATES {
            assert_eq!(mbps_to_ibv_rate(ibv_rate_to_mbps(code)), code);
            assert_eq!(ibv_rate_to_mbps(code), megabits);
        }
        assert_eq!((ibv_rate_to_mult(7), ibv_rate_to_mult(99), mult_to_ibv_rate(4)), (16, -1, 3));
    }

    #[test]
    fn what_has_no_name_is_unknown() {
        let text = |pointer| {
            // SAFETY: names are strings that live for ever.
            unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
        };
        assert_eq!(text(ibv_wc_status_str(5)), "Work Request Flushed Error");
        assert_eq!(text(ibv_wc_status_str(-1)), "unknown");
        assert_eq!(text(ibv_event_type_str(19)), "WQ fatal");
        assert_eq!(text(ibv_event_type_str(20)), "unknown");
    }
}
