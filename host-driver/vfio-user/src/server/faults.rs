//! Accesses of the device that led to no mapping are told to the client, whose IOMMU keeps the record of them.
//!
//! A client shows the device what its IOMMU lets through, so that an access to anything else has failed before anybody else
//! hears of it. Behind a bus it is the IOMMU that stops it and tells the system. So it is told here: the client is asked to read a
//! byte at the address, as the protocol has it for memory without a descriptor, and its IOMMU refuses and makes a note. Also of a write: a
//! real one, asked for so late, could find memory that was mapped there meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::body::DmaAccess;
use crate::message::{Command, Header};
use crate::socket::Socket;

/// Where accesses that led to no mapping are told. Never waits: the client hears of one at a time, and while it has not answered
/// only the next one is kept.
#[derive(Clone, Debug)]
pub struct Faults(SyncSender<u64>);

impl Faults {
    /// Of the client at the other end of `socket`; and where it is said that it has answered.
    pub(super) fn of(socket: &Arc<Socket>) -> (Self, SyncSender<()>) {
        let (tell, told) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let socket = Arc::clone(socket);
        // Ends when the function has dropped its end, or the session its own.
        thread::spawn(move || run(&socket, &told, &answers));
        (Self(tell), answer)
    }

    /// Tells of an access at this address; `false` when too many were before it.
    #[must_use]
    pub fn tell(&self, address: u64) -> bool {
        self.0.try_send(address).is_ok()
    }
}

fn run(socket: &Socket, told: &Receiver<u64>, answers: &Receiver<()>) {
    let mut id = 0_u16;
    while let Ok(address) = told.recv() {
        let body = DmaAccess { address, count: 1 }.to_bytes();
        let header = Header::request(id, Command::DmaRead, body.len());
        id = id.wrapping_add(1);
        if socket.send(&header, &[&body], &[]).is_err() || answers.recv().is_err() {
            return;
        }
    }
}
