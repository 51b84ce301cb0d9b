//! The card's network port and, until the transport stands there, the transport side of its front ends.

use stroma_abi::wire::class::Class;
use stroma_hw::head::Head;
use stroma_hw::pack::Packed;
use stroma_hw::stream::{self, Beat};
use stroma_top::Profile;
use stroma_verilate::{Error, Pause};

use super::Card;

/// Cycles for which nothing may move before the front ends count as idle: longer than any pipeline of theirs.
const QUIET_CYCLES: u64 = 200;

/// What the transport side gets from, or gives to, the front ends: a head and its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// All header fields.
    pub head: Head,
    /// The payload, as long as the head says.
    pub payload: Vec<u8>,
}

/// Pause patterns for all network and transport streams of a card: idle on what goes in, back-pressure on what comes out.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Gaps in what is fed.
    pub idle: Pause,
    /// Refusals of what is offered.
    pub stall: Pause,
}

impl Card {
    /// Chooses how the world around the card stutters.
    pub fn pause(&mut self, streams: &Streams) {
        for source in [self.mac_in, self.tx_head, self.tx_payload] {
            self.bench[source].pause(streams.idle.clone());
        }
        for sink in [self.rx_head, self.rx_payload] {
            self.bench[sink].pause(streams.stall.clone());
        }
        self.stall(&streams.stall);
    }

    /// Queues a frame for the network port; `bad` is what a MAC says of a wrong FCS.
    pub fn receive(&mut self, frame: &[u8], bad: bool) {
        self.record_received(frame, bad);
        let width = self.profile.data_bits() / 8;
        let whole = frame.len().saturating_sub(1) / width * width;
        self.receive_beginning(&frame[..whole]);
        self.bench[self.mac_in].send(axis_beat(&frame[whole..], width, true, bad));
    }

    /// Queues the whole beats of the beginning of a frame; its end may never come.
    pub fn receive_beginning(&mut self, bytes: &[u8]) {
        let width = self.profile.data_bits() / 8;
        for beat in bytes.chunks_exact(width) {
            self.bench[self.mac_in].send(axis_beat(beat, width, false, false));
        }
    }

    /// Queues a packet for the transmit front end.
    pub fn transmit(&mut self, packet: &Packet) {
        self.bench[self.tx_head].send(packet.head.to_words());
        if !packet.payload.is_empty() {
            let beats: Vec<Vec<u32>> = match self.profile {
                Profile::TenGig => {
                    stream::beats::<64>(&packet.payload).iter().map(Packed::to_words).collect()
                }
                Profile::HundredGig => {
                    stream::beats::<512>(&packet.payload).iter().map(Packed::to_words).collect()
                }
            };
            for beat in beats {
                self.bench[self.tx_payload].send(beat);
            }
        }
    }

    /// Runs until every frame and packet queued went in and nothing came out for a while; how many cycles that took.
    ///
    /// # Errors
    /// [`Error::Stuck`] when it is not idle after `limit` cycles.
    pub fn run_until_idle(&mut self, limit: u64) -> Result<u64, Error> {
        let start = self.cycle();
        let mut seen = (start, 0);
        loop {
            let received = [self.rx_head, self.rx_payload].map(|sink| self.bench[sink].received().len());
            let moved = self.wire.beats + received[0] + received[1];
            if !self.bench.is_sent() || moved != seen.1 {
                seen = (self.cycle(), moved);
            }
            if self.cycle() - seen.0 >= QUIET_CYCLES {
                return Ok(self.cycle() - start);
            }
            if self.cycle() - start >= limit {
                return Err(self.bench.stuck(limit));
            }
            self.step();
        }
    }

    /// Packets the receive front end let through since the last call, in order.
    ///
    /// # Panics
    /// When heads and payloads do not fit together: the front end broke its contract.
    pub fn packets(&mut self) -> Vec<Packet> {
        let beats = self.bench[self.rx_payload].take();
        let mut payloads = match self.profile {
            Profile::TenGig => payloads::<64>(&beats),
            Profile::HundredGig => payloads::<512>(&beats),
        }
        .into_iter();
        let heads = self.bench[self.rx_head].take();
        let packet = |words: Vec<u32>| {
            let head = Head::from_words(&words);
            let expected = head.payload_len.index();
            let payload =
                if expected == 0 { Vec::new() } else { payloads.next().expect("a payload for each head") };
            assert_eq!(payload.len(), expected, "the payload is as long as its head says");
            Packet { head, payload }
        };
        let packets = heads.into_iter().map(packet).collect();
        assert_eq!(payloads.next(), None, "no payload without a head");
        packets
    }

    /// Frames the card sent since the last call, and whether it marked them bad. Those of a card on a wire are with its peers.
    pub fn frames(&mut self) -> Vec<(Vec<u8>, bool)> {
        self.take_sent().into_iter().map(|sent| (sent.bytes, sent.bad)).collect()
    }

    /// How many frames of a class the card has counted since reset.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.bench.model().get(self.counts[class.index()])
    }

    /// How many frames the card has judged since reset, whatever it said of them.
    #[must_use]
    pub fn judged(&self) -> u64 {
        Class::ALL.iter().map(|class| self.count(*class)).sum()
    }

    /// Transmit payloads that were not as long as their head said.
    #[must_use]
    pub fn mismatched(&self) -> u64 {
        self.bench.model().get(self.mismatched)
    }
}

/// One beat of the network port: data, keep, last, user, each in whole words.
fn axis_beat(bytes: &[u8], width: usize, last: bool, bad: bool) -> Vec<u32> {
    let mut padded = bytes.to_vec();
    padded.resize(width, 0);
    let word = |chunk: &[u8]| u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
    let mut words: Vec<u32> = padded.chunks(4).map(word).collect();
    let keep = if bytes.len() == 64 { u64::MAX } else { (1 << bytes.len()) - 1 };
    let halves = [u32::try_from(keep & u64::from(u32::MAX)), u32::try_from(keep >> 32)];
    words.extend(halves.into_iter().take(width.div_ceil(32)).map(|half| half.expect("32 bits fit")));
    words.extend([u32::from(last), u32::from(bad)]);
    words
}

/// Cuts received beats into packets.
fn payloads<const D: usize>(words: &[Vec<u32>]) -> Vec<Vec<u8>> {
    let beats: Vec<Beat<D>> = words.iter().map(|words| Beat::from_words(words)).collect();
    beats.split_inclusive(|beat| beat.eop).map(stream::bytes).collect()
}
