//! The far end of the wire: it sends whatever it is given, and beside that is an honest endpoint.

use stroma_sim::peer::{Golden, Peer, Raw};

use super::wrong::Wrong;

/// One station that is both. Frames of the card go to either; the honest endpoint drops what is for queue pairs it has not.
#[derive(Default)]
pub(crate) struct Attacker {
    /// Sends any bytes.
    pub raw: Raw,
    /// Speaks the protocol, on connections of its own.
    pub golden: Golden,
    /// Answers requests on others, if it is there.
    pub wrong: Option<Wrong>,
}

impl Peer for Attacker {
    fn receive(&mut self, now: u64, frame: &[u8], bad: bool) {
        self.raw.receive(now, frame, bad);
        self.golden.receive(now, frame, bad);
        let answers = self.wrong.as_mut().map(|wrong| wrong.answers_to(frame));
        answers.into_iter().flatten().for_each(|answer| self.raw.send(answer));
    }

    fn transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        self.raw.transmit(now).or_else(|| self.golden.transmit(now))
    }

    fn tick(&mut self, now: u64) {
        self.golden.tick(now);
    }

    fn next_due(&self, now: u64) -> Option<u64> {
        self.raw.next_due(now).into_iter().chain(self.golden.next_due(now)).min()
    }
}
