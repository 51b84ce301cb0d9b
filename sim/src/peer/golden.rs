//! The golden endpoint on a wire.

use stroma_abi::Qpn;

use super::Peer;
use crate::model::{
    Completion, Datagram, DatagramSettings, Dropped, Endpoint, Memory, Receive, ReceiveQueue, Received,
    Settings, Work,
};

/// A golden [`Endpoint`] behind a MAC, which drops frames whose FCS is wrong. Timeouts are in cycles of the world.
#[derive(Default)]
pub struct Golden {
    endpoint: Endpoint,
    /// Something was done to the endpoint, so that it may have a frame to send.
    is_stirred: bool,
    bad: u64,
    dropped: Vec<Dropped>,
}

impl Golden {
    /// Adds a queue pair, in place of the one that had its number.
    pub fn connect(&mut self, settings: Settings) {
        self.endpoint.connect(settings);
    }

    /// The same, for a queue pair that takes its receives from a queue of several.
    pub fn connect_sharing(&mut self, settings: Settings, receives: &ReceiveQueue) {
        self.endpoint.connect_sharing(settings, receives);
    }

    /// Adds a queue pair for datagrams, in place of the one that had its number.
    pub fn open(&mut self, settings: DatagramSettings) {
        self.endpoint.open(settings);
    }

    /// The same, for one that takes its receives from a queue of several.
    pub fn open_sharing(&mut self, settings: DatagramSettings, receives: &ReceiveQueue) {
        self.endpoint.open_sharing(settings, receives);
    }

    /// Posts a datagram.
    ///
    /// # Panics
    /// As [`Endpoint::post_datagram`].
    pub fn post_datagram(&mut self, number: Qpn, datagram: Datagram) {
        self.endpoint.post_datagram(number, datagram);
        self.is_stirred = true;
    }

    /// Posts an operation.
    ///
    /// # Panics
    /// As [`Endpoint::post`].
    pub fn post(&mut self, number: Qpn, work: Work) {
        self.endpoint.post(number, work);
        self.is_stirred = true;
    }

    /// Posts a receive to the queue of a queue pair. That sends nothing: a peer that was told to wait asks again by itself.
    ///
    /// # Panics
    /// As [`Endpoint::post_receive`].
    pub fn post_receive(&mut self, number: Qpn, receive: Receive) {
        self.endpoint.post_receive(number, receive);
    }

    /// The oldest completion of a receive of a queue pair not yet taken.
    pub fn poll_receive(&mut self, number: Qpn) -> Option<Received> {
        self.endpoint.poll_receive(number)
    }

    /// The oldest completion of a queue pair not yet taken.
    pub fn poll(&mut self, number: Qpn) -> Option<Completion> {
        self.endpoint.poll(number)
    }

    /// Its registered regions.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.endpoint.memory
    }

    /// The endpoint, to look at.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Frames dropped because their FCS was wrong.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.bad
    }

    /// Why other frames changed nothing, in the order in which they came.
    #[must_use]
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }
}

impl Peer for Golden {
    fn receive(&mut self, now: u64, frame: &[u8], bad: bool) {
        if bad {
            self.bad += 1;
            return;
        }
        self.dropped.extend(self.endpoint.receive(now, frame).err());
        self.is_stirred = true;
    }

    fn transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        let frame = self.endpoint.transmit(now);
        // Without a frame now there is none before something is done to the endpoint again.
        self.is_stirred = frame.is_some();
        frame
    }

    fn tick(&mut self, now: u64) {
        self.endpoint.tick(now);
    }

    fn next_due(&self, now: u64) -> Option<u64> {
        if self.is_stirred { Some(now) } else { self.endpoint.deadline().map(|due| due.max(now)) }
    }
}
