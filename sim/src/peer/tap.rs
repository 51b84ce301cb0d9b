//! The machine's own network, behind a TAP interface: what runs here reaches the simulated wire as it would a real one.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::outside::{Door, Outside};

/// Where the system makes such interfaces.
const TUN: &str = "/dev/net/tun";

/// The descriptor of an interface.
#[derive(Debug)]
pub struct Interface(File);

/// A TAP interface at the end of a wire.
pub type Tap = Outside<Interface>;

impl Tap {
    /// Opens the interface of this name, or makes it. One that was made goes with the process; who has no right to make one uses one
    /// that was made for him, with `ip tuntap add NAME mode tap user USER`.
    ///
    /// # Errors
    /// When the name is not one of an interface, or the system refuses.
    pub fn open(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN)?;
        attach(&file, name)?;
        Ok(Self::new(Interface(file)))
    }
}

/// What the system is told of an interface: its name, and that frames come bare.
fn request(name: &str) -> io::Result<libc::ifreq> {
    let name = CString::new(name).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    let name = name.as_bytes_with_nul();
    let mut places = [0; libc::IFNAMSIZ];
    if name.len() < 2 || name.len() > places.len() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "a name of 1 to 15 bytes is needed"));
    }
    for (place, byte) in places.iter_mut().zip(name) {
        *place = byte.cast_signed();
    }
    let flags = i16::try_from(libc::IFF_TAP | libc::IFF_NO_PI).expect("flags of an interface have 16 bits");
    Ok(libc::ifreq { ifr_name: places, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } })
}

#[expect(unsafe_code, reason = "the system has no other way to name the interface of a descriptor")]
fn attach(file: &File, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    // SAFETY: the descriptor is open for as long as `file` is borrowed; TUNSETIFF reads an `ifreq`, and writes back into it no
    // more than its size: `request` is one, made whole above, and nobody else has it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Door for Interface {
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.write(frame).map(|_| ())
    }

    fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_interface_can_have_is_refused() {
        for name in ["", "sixteen-letters-", "a\0b"] {
            let Err(error) = request(name) else { panic!("{name:?} is taken") };
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        assert!(request("fifteen-letters").is_ok());
    }
}
