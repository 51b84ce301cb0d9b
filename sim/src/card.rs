//! The card as a struct: frames in and out of its network port, packets in and out of its transport side.

use stroma_abi::wire::class::Class;
use stroma_hw::head::Head;
use stroma_hw::pack::Packed;
use stroma_hw::stream::{self, Beat};
use stroma_top::Profile;
use stroma_verilate::{Bench, Error, Model, Options, Pause, PortId, SinkId, SourceId, StreamPorts};

/// Cycles for which nothing may move before a card counts as idle: longer than any pipeline of it.
const QUIET_CYCLES: u64 = 200;
/// How long `reset` is held.
const RESET_CYCLES: u64 = 4;

/// What the transport side gets from, or gives to, the front ends: a head and its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// All header fields.
    pub head: Head,
    /// The payload, as long as the head says.
    pub payload: Vec<u8>,
}

/// Pause patterns for all ports of a card: idle on what goes in, back-pressure on what comes out.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Gaps in what is fed.
    pub idle: Pause,
    /// Refusals of what is offered.
    pub stall: Pause,
}

/// A Verilated card of one profile, with drivers on every stream port.
pub struct Card {
    bench: Bench,
    profile: Profile,
    mac_in: SourceId,
    mac_out: SinkId,
    rx_head: SinkId,
    rx_payload: SinkId,
    tx_head: SourceId,
    tx_payload: SourceId,
    counts: [PortId; Class::COUNT],
    mismatched: PortId,
}

impl Card {
    /// A fresh card, out of reset.
    ///
    /// # Errors
    /// When the linked model does not have the ports of a card.
    pub fn new(profile: Profile, options: &Options) -> Result<Self, Error> {
        let model = Model::linked(crate::linked::model(profile), options)?;
        let axis = |side: &str| -> Result<StreamPorts, Error> {
            let port = |role: &str| model.port(&format!("{side}_t{role}"));
            let payload = vec![port("data")?, port("keep")?, port("last")?, port("user")?];
            Ok(StreamPorts {
                name: format!("{side} axis"),
                valid: port("valid")?,
                ready: port("ready")?,
                payload,
            })
        };
        let (axis_in, axis_out) = (axis("rx")?, axis("tx")?);
        let mut counts = [axis_in.valid; Class::COUNT];
        for (index, count) in counts.iter_mut().enumerate() {
            *count = model.port(&format!("rx_counts${index}"))?;
        }
        let mismatched = model.port("tx_mismatched")?;
        let mut bench = Bench::new(model)?;
        let mut card = Self {
            mac_in: bench.source_on(axis_in),
            mac_out: bench.sink_on(axis_out),
            rx_head: bench.sink("rx_head")?,
            rx_payload: bench.sink("rx_payload")?,
            tx_head: bench.source("tx_head")?,
            tx_payload: bench.source("tx_payload")?,
            bench,
            profile,
            counts,
            mismatched,
        };
        card.reset();
        Ok(card)
    }

    /// Resets the card; frames under way are lost, counters start at zero.
    pub fn reset(&mut self) {
        self.bench.reset(RESET_CYCLES);
    }

    /// Chooses how the world around the card stutters.
    pub fn pause(&mut self, streams: &Streams) {
        for source in [self.mac_in, self.tx_head, self.tx_payload] {
            self.bench[source].pause(streams.idle.clone());
        }
        for sink in [self.mac_out, self.rx_head, self.rx_payload] {
            self.bench[sink].pause(streams.stall.clone());
        }
    }

    /// Queues a frame for the network port; `bad` is what a MAC says of a wrong FCS.
    pub fn receive(&mut self, frame: &[u8], bad: bool) {
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

    /// Runs until everything queued went in and nothing came out for a while; how many cycles that took.
    ///
    /// # Errors
    /// [`Error::Stuck`] when it is not idle after `limit` cycles.
    pub fn run_until_idle(&mut self, limit: u64) -> Result<u64, Error> {
        let outputs = [self.mac_out, self.rx_head, self.rx_payload];
        let mut seen = (0, 0);
        self.bench.run_until(
            |bench| {
                let moved = outputs.iter().map(|sink| bench[*sink].received().len()).sum::<usize>();
                if !bench.is_sent() || moved != seen.1 {
                    seen = (bench.cycle(), moved);
                }
                bench.cycle() - seen.0 >= QUIET_CYCLES
            },
            limit,
        )
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

    /// Frames the card sent since the last call, and whether it marked them bad.
    pub fn frames(&mut self) -> Vec<(Vec<u8>, bool)> {
        let width = self.profile.data_bits() / 8;
        let (data_words, keep_words) = (width / 4, width.div_ceil(32));
        let mut frames = Vec::new();
        let mut frame = Vec::new();
        for beat in self.bench[self.mac_out].take() {
            let (data, rest) = beat.split_at(data_words);
            let (keep, flags) = rest.split_at(keep_words);
            let count: u32 = keep.iter().map(|word| word.count_ones()).sum();
            frame.extend(data.iter().flat_map(|word| word.to_le_bytes()).take(count as usize));
            if flags[0] == 1 {
                frames.push((std::mem::take(&mut frame), flags[1] == 1));
            }
        }
        frames
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

    /// The profile this card was built in.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Cycles since the card was made.
    #[must_use]
    pub fn cycle(&self) -> u64 {
        self.bench.cycle()
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
