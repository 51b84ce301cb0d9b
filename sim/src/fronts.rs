//! The front ends on a bench of their own: the MAC on one side, on the other what a transport would see.

use stroma_abi::wire::class::Class;
use stroma_hw::head::Head;
use stroma_hw::pack::Packed;
use stroma_hw::stream::{self, Beat};
use stroma_top::Profile;
use stroma_verilate::{Bench, Error, Options, PortId, SinkId, SourceId};

use crate::mac::{Mac, Sent, Streams};

/// How long `reset` is held.
const RESET_CYCLES: u64 = 4;
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

/// The Verilated front ends of one profile.
pub struct Fronts {
    bench: Bench,
    profile: Profile,
    mac: Mac,
    rx_head: SinkId,
    rx_payload: SinkId,
    tx_head: SourceId,
    tx_payload: SourceId,
    mismatched: PortId,
}

impl Fronts {
    /// Fresh front ends, out of reset.
    ///
    /// # Errors
    /// When they cannot be built, or do not have their ports.
    pub fn new(profile: Profile, options: &Options) -> Result<Self, Error> {
        let model = crate::models::fronts(profile, options)?;
        let mismatched = model.port("tx_mismatched")?;
        let (raw_enable, own, closed) =
            (model.port("raw_enable")?, model.port("own")?, model.port("rx_closed")?);
        let mut bench = Bench::new(model)?;
        // Raw frames are for the whole card: none is wanted here, and none is sent. Without an address no frame comes back.
        bench.model_mut().set(raw_enable, 0);
        bench.model_mut().set(own, 0);
        bench.model_mut().set(closed, 0);
        bench.source("tx_raw")?;
        let mut fronts = Self {
            mac: Mac::attach(&mut bench, profile)?,
            rx_head: bench.sink("rx_head")?,
            rx_payload: bench.sink("rx_payload")?,
            tx_head: bench.source("tx_head")?,
            tx_payload: bench.source("tx_payload")?,
            bench,
            profile,
            mismatched,
        };
        fronts.check_streams(false);
        fronts.reset();
        Ok(fronts)
    }

    /// Resets them, as at power-up; what waits to go in is forgotten.
    pub fn reset(&mut self) {
        self.mac.reset(&self.bench);
        self.bench.clear();
        self.bench.reset(RESET_CYCLES);
    }

    /// Are streams checked as closely as those of single blocks: rule 3 of the stream law at the outputs, and fresh noise in
    /// every cycle at the inputs? It costs most of the speed.
    pub fn check_streams(&mut self, check: bool) {
        self.bench.steady(!check);
        for sink in [self.mac.sink(), self.rx_head, self.rx_payload] {
            self.bench[sink].check_independence(check);
        }
    }

    /// Chooses how the world around the front ends stutters.
    pub fn pause(&mut self, streams: &Streams) {
        self.mac.pause(&mut self.bench, streams);
        for source in [self.tx_head, self.tx_payload] {
            self.bench[source].pause(streams.idle.clone());
        }
        for sink in [self.rx_head, self.rx_payload] {
            self.bench[sink].pause(streams.stall.clone());
        }
    }

    /// Queues a frame for the network port; `bad` is what a MAC says of a wrong FCS.
    pub fn receive(&mut self, frame: &[u8], bad: bool) {
        self.mac.receive(&mut self.bench, frame, bad);
    }

    /// Queues the whole beats of the beginning of a frame; its end may never come.
    pub fn receive_beginning(&mut self, bytes: &[u8]) {
        self.mac.receive_beginning(&mut self.bench, bytes);
    }

    /// Queues a packet for the transmit front end.
    pub fn transmit(&mut self, packet: &Packet) {
        self.bench[self.tx_head].send(packet.head.to_words());
        if packet.payload.is_empty() {
            return;
        }
        let beats = match self.profile {
            Profile::TenGig => beats::<64>(&packet.payload),
            Profile::HundredGig => beats::<512>(&packet.payload),
        };
        for beat in beats {
            self.bench[self.tx_payload].send(beat);
        }
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.bench.cycle();
        self.bench.step();
        self.mac.watch(&mut self.bench, now, &mut |_| {});
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
            let moved = self.mac.beats + received[0] + received[1];
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

    /// Frames sent since the last call, and whether they were marked bad.
    pub fn frames(&mut self) -> Vec<(Vec<u8>, bool)> {
        self.take_sent().into_iter().map(|sent| (sent.bytes, sent.bad)).collect()
    }

    /// Frames sent since the last call, of this or of [`frames`](Self::frames), with their cycles.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.mac.take_sent()
    }

    /// How many frames of a class were counted since reset.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.mac.count(&self.bench, class)
    }

    /// How many frames were judged since reset, whatever was said of them.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.mac.judged(&self.bench)
    }

    /// Transmit payloads that were not as long as their head said.
    #[must_use]
    pub fn mismatched(&self) -> u64 {
        self.bench.model().get(self.mismatched)
    }

    /// Cycles since they were made.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.bench.cycle()
    }
}

/// A payload as it lies at the pins.
fn beats<const D: usize>(payload: &[u8]) -> Vec<Vec<u32>> {
    stream::beats::<D>(payload).iter().map(Packed::to_words).collect()
}

/// Cuts received beats into packets.
fn payloads<const D: usize>(words: &[Vec<u32>]) -> Vec<Vec<u8>> {
    let beats: Vec<Beat<D>> = words.iter().map(|words| Beat::from_words(words)).collect();
    beats.split_inclusive(|beat| beat.eop).map(stream::bytes).collect()
}
