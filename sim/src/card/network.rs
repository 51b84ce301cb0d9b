//! The card's network port.

use stroma_abi::wire::class::Class;

use super::Card;
use crate::capture::Listener;
use crate::mac::{Sent, Streams};
use crate::pcap;

impl Card {
    /// Chooses how the network around the card stutters.
    pub fn pause(&mut self, streams: &Streams) {
        self.mac.pause(&mut self.bench, streams);
    }

    /// Queues a frame for the network port; `bad` is what a MAC says of a wrong FCS.
    pub fn receive(&mut self, frame: &[u8], bad: bool) {
        self.mac.receive(&mut self.bench, frame, bad);
    }

    /// Frames the card sent since the last call, and whether it marked them bad. Those of a card on a wire are with its peers.
    pub fn frames(&mut self) -> Vec<(Vec<u8>, bool)> {
        self.take_sent().into_iter().map(|sent| (sent.bytes, sent.bad)).collect()
    }

    /// Frames that have left since the last call, of this or of [`frames`](Self::frames).
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.mac.take_sent()
    }

    /// How many frames of a class the card has counted since reset.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.mac.count(&self.bench, class)
    }

    /// How many frames the card has judged since reset, whatever it said of them.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.mac.judged(&self.bench)
    }

    /// Is the MAC unable to take more from the card? On top of the pattern of [`pause`](Self::pause).
    pub(crate) fn hold(&mut self, hold: bool) {
        self.mac.hold(&mut self.bench, hold);
    }

    /// Has the far end asked for silence?
    pub(crate) fn silence(&mut self, silent: bool) {
        self.mac.silence(&mut self.bench, silent);
    }

    /// Records frames of the network port from now on, both ways: one out with its last beat, one in as it is handed to the
    /// card.
    pub fn start_capture(&mut self, writer: pcap::Writer) {
        self.mac.capture.start(writer);
    }

    /// Somebody hears of frames of the network port from now on.
    pub fn add_listener(&mut self, listener: Box<dyn Listener>) {
        self.mac.capture.listen(listener);
    }

    /// Ends the recording and closes the file.
    ///
    /// # Errors
    /// When a frame could not be written; those after it are not in the file.
    pub fn finish_capture(&mut self) -> Result<(), pcap::Error> {
        self.mac.capture.finish()
    }
}
