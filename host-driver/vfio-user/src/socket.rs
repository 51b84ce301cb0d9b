//! Messages over a Unix socket, with the descriptors that come along.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt::socket_peercred,
};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::message::{DESCRIPTORS_MAX, Header, MESSAGE_MAX, Message};

/// Why no message came, or none could be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It ended between two messages.
    #[error("the other end has closed the connection")]
    Closed,
    /// It ended within one.
    #[error("the connection ended {missing} bytes before the end of a message")]
    Half {
        /// Bytes that did not come.
        missing: usize,
    },
    /// The process that had connected has ended, though somebody holds its end of the socket still.
    #[error("the process at the other end has ended")]
    Died,
    /// A header that announces what no message is.
    #[error("a message of {size} bytes: it has {} to {MESSAGE_MAX}", Header::LEN)]
    Size {
        /// Bytes announced.
        size: u32,
    },
    /// More descriptors than a message may bring.
    #[error("a message with more than {DESCRIPTORS_MAX} descriptors")]
    Descriptors,
    /// Nothing moved for too long.
    #[error("nothing came for {waited:?}")]
    Silent {
        /// Time waited.
        waited: Duration,
    },
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Socket {
    stream: UnixStream,
    /// Held while a message is sent, so that those of two threads do not mix.
    sending: Mutex<()>,
    /// Becomes readable when the process that connected has ended.
    process: Option<OwnedFd>,
    patience: Option<Duration>,
    /// Descriptors that one message may bring.
    descriptors: usize,
}

impl Socket {
    /// An end that waits for as long as it takes, unless the other end's process ends: a child of that process that holds the
    /// socket open does not keep it alive.
    #[must_use]
    pub fn of_server(stream: UnixStream) -> Self {
        let process = socket_peercred(&stream).ok();
        // A system without such descriptors tells the end of a process by the end of its sockets.
        let process = process.and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty()).ok());
        Self { stream, sending: Mutex::default(), process, patience: None, descriptors: DESCRIPTORS_MAX }
    }

    /// An end that gives up when nothing moves for so long.
    #[must_use]
    pub fn with_patience(stream: UnixStream, patience: Duration) -> Self {
        let (sending, patience) = (Mutex::default(), Some(patience));
        Self { stream, sending, process: None, patience, descriptors: DESCRIPTORS_MAX }
    }

    /// The same, when no message needs its descriptors: the system closes them unseen.
    #[must_use]
    pub fn without_descriptors(stream: UnixStream, patience: Duration) -> Self {
        Self { descriptors: 0, ..Self::with_patience(stream, patience) }
    }

    /// Ends the connection: whoever waits at this end, to send or to receive, waits no more.
    pub fn close(&self) {
        // It may have ended already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// The stream below, to say on it what is no message.
    #[cfg(test)]
    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// The process at the other end.
    #[must_use]
    pub fn peer(&self) -> Option<u32> {
        let pid = socket_peercred(&self.stream).ok()?.pid;
        u32::try_from(pid.as_raw_nonzero().get()).ok()
    }

    /// Sends a message: its header, then the parts of its body.
    ///
    /// # Errors
    /// When the other end is gone or does not listen.
    pub fn send(&self, header: &Header, body: &[&[u8]], descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let bytes = [&[&header.to_bytes()[..]], body].concat().concat();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        // The space is rounded up, and takes one more at times.
        let is_whole = descriptors.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        if descriptors.len() > DESCRIPTORS_MAX || !is_whole {
            return Err(Error::Descriptors);
        }
        let _turn = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sent = 0;
        while sent < bytes.len() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match sendmsg(&self.stream, &[IoSlice::new(&bytes[sent..])], &mut ancillary, flags) {
                Ok(count) => {
                    // They have gone with the first byte.
                    ancillary.clear();
                    sent += count;
                }
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, None)?,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(Error::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next message.
    ///
    /// # Errors
    /// When none comes, or what comes is none; then there is no telling where the next would begin.
    pub fn receive(&self) -> Result<Message, Error> {
        self.message(None)
    }

    /// The next message, if all of it is there in time: who sends a byte now and then gains nothing.
    ///
    /// # Errors
    /// As [`receive`](Self::receive), and when it is not there.
    pub fn receive_by(&self, until: Instant) -> Result<Message, Error> {
        self.message(Some(until))
    }

    fn message(&self, until: Option<Instant>) -> Result<Message, Error> {
        let mut header = [0; Header::LEN];
        let mut descriptors = Vec::new();
        match self.fill(&mut header, &mut descriptors, until) {
            Err(Error::Half { missing: Header::LEN }) => return Err(Error::Closed),
            outcome => outcome?,
        }
        let header = Header::from_bytes(&header);
        let mut body = vec![0; header.body_len().ok_or(Error::Size { size: header.size })?];
        self.fill(&mut body, &mut descriptors, until)?;
        Ok(Message { header, body, descriptors })
    }

    /// Receives just so many bytes, and takes the descriptors that come with them.
    fn fill(
        &self,
        bytes: &mut [u8],
        descriptors: &mut Vec<OwnedFd>,
        until: Option<Instant>,
    ) -> Result<(), Error> {
        let mut got = 0;
        while got < bytes.len() {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
            let room: &mut [MaybeUninit<u8>] = if self.descriptors == 0 { &mut [] } else { &mut space };
            let mut ancillary = RecvAncillaryBuffer::new(room);
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            let mut part = [IoSliceMut::new(&mut bytes[got..])];
            match recvmsg(&self.stream, &mut part, &mut ancillary, flags) {
                Ok(received) => {
                    for message in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(arrived) = message {
                            descriptors.extend(arrived);
                        }
                    }
                    // More than there was room for, where there is any.
                    let are_cut = received.flags.contains(ReturnFlags::CTRUNC) && self.descriptors > 0;
                    if are_cut || descriptors.len() > self.descriptors {
                        return Err(Error::Descriptors);
                    }
                    if received.bytes == 0 {
                        return Err(Error::Half { missing: bytes.len() - got });
                    }
                    got += received.bytes;
                }
                Err(Errno::AGAIN) => self.wait(PollFlags::IN, until)?,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Err(Error::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until the socket is ready for `wanted`, for as long as there is patience, and not beyond `until`.
    fn wait(&self, wanted: PollFlags, until: Option<Instant>) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            let patience = self.patience.map(|patience| patience.saturating_sub(started.elapsed()));
            let time = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = patience.into_iter().chain(time).min();
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut watched = vec![PollFd::new(&self.stream, wanted)];
            watched.extend(
                self.process.iter().map(|process| PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)),
            );
            match poll(&mut watched, timeout.as_ref()) {
                Ok(0) => return Err(Error::Silent { waited: started.elapsed() }),
                // What was sent before the end is heard first.
                Ok(_) if !watched[0].revents().is_empty() => return Ok(()),
                Ok(_) => return Err(Error::Died),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
