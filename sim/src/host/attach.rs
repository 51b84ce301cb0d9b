//! Connects the host to the pins of a card: the five channels of its AXI4 manager, the five of its AXI4-Lite subordinate,
//! and its interrupts.

use stroma_verilate::{Bench, Error, Pause, SinkId, SourceId, StreamPorts};

use super::bars::{Access, Bars};
use super::port::Port;

/// Bytes of the widest beat.
const WIDEST: usize = 64;

/// What a card did, or what was done to it, in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A BAR access arrived.
    Bar(Access),
    /// The card asked for a burst.
    Read {
        /// Of its first byte.
        address: u64,
        /// Beats.
        beats: u64,
    },
    /// The card sent a write's address.
    Write {
        /// Of its first byte.
        address: u64,
        /// Beats.
        beats: u64,
    },
    /// The card sent a beat of write data.
    Data {
        /// It was the last of its burst.
        last: bool,
    },
    /// The first beat of a frame left the network port.
    Left,
    /// The last beat of a frame arrived there.
    Arrived,
    /// The card raised an interrupt.
    Interrupt {
        /// The vector.
        vector: u8,
    },
}

/// The pins of a card towards its host, attached.
pub struct Pins {
    beat_words: usize,
    host_aw: SinkId,
    host_w: SinkId,
    host_b: SourceId,
    host_ar: SinkId,
    host_r: SourceId,
    bar_aw: SourceId,
    bar_w: SourceId,
    bar_b: SinkId,
    bar_ar: SourceId,
    bar_r: SinkId,
    irq: SinkId,
    stores: u64,
    loads: u64,
}

/// The pins of a channel, by the beginning of their names.
fn channel(bench: &Bench, name: &str, payload: &[&str]) -> Result<StreamPorts, Error> {
    let port = |role: &str| bench.model().port(&format!("{name}{role}"));
    let payload = payload.iter().map(|role| port(role)).collect::<Result<_, _>>()?;
    Ok(StreamPorts { name: name.to_owned(), valid: port("valid")?, ready: port("ready")?, payload })
}

fn sink(bench: &mut Bench, name: &str, payload: &[&str]) -> Result<SinkId, Error> {
    let ports = channel(bench, name, payload)?;
    Ok(bench.sink_on(ports))
}

fn source(bench: &mut Bench, name: &str, payload: &[&str]) -> Result<SourceId, Error> {
    let ports = channel(bench, name, payload)?;
    Ok(bench.source_on(ports))
}

fn ready_if(takes: bool) -> Pause {
    if takes { Pause::None } else { Pause::Always }
}

fn wide(words: &[u32]) -> u64 {
    words.iter().rev().fold(0, |value, word| value << 32 | u64::from(*word))
}

fn halves(value: u64) -> [u32; 2] {
    [value & u64::from(u32::MAX), value >> 32].map(|half| u32::try_from(half).expect("32 bits"))
}

fn byte(word: u32) -> u8 {
    word.to_le_bytes()[0]
}

impl Pins {
    /// Finds the pins of a card with a datapath of `data_bits`.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn attach(bench: &mut Bench, data_bits: usize) -> Result<Self, Error> {
        Ok(Self {
            beat_words: data_bits / 32,
            host_aw: sink(bench, "m_axi_aw", &["addr", "len"])?,
            host_w: sink(bench, "m_axi_w", &["data", "strb", "last"])?,
            host_b: source(bench, "m_axi_b", &["resp"])?,
            host_ar: sink(bench, "m_axi_ar", &["addr", "len", "id"])?,
            host_r: source(bench, "m_axi_r", &["data", "id", "resp", "last"])?,
            bar_aw: source(bench, "s_axil_aw", &["addr"])?,
            bar_w: source(bench, "s_axil_w", &["data", "strb"])?,
            bar_b: sink(bench, "s_axil_b", &["resp"])?,
            bar_ar: source(bench, "s_axil_ar", &["addr"])?,
            bar_r: sink(bench, "s_axil_r", &["data", "resp"])?,
            irq: sink(bench, "irq_", &["vector"])?,
            stores: 0,
            loads: 0,
        })
    }

    /// The streams that the card gives.
    pub(crate) fn sinks(&self) -> [SinkId; 6] {
        [self.host_aw, self.host_w, self.host_ar, self.bar_b, self.bar_r, self.irq]
    }

    /// Forgets accesses that were under way when the card was reset.
    pub(crate) fn reset(&mut self, bench: &mut Bench) {
        (self.stores, self.loads) = (0, 0);
        for sink in self.sinks() {
            bench[sink].take();
        }
    }

    /// Before a cycle: what the host can take in it, and what it has to give.
    pub(crate) fn before(
        &mut self,
        bench: &mut Bench,
        port: &mut Port,
        bars: &mut Bars,
        note: &mut impl FnMut(Event),
    ) {
        let now = bench.cycle();
        bench[self.host_aw].pause(ready_if(port.takes_write()));
        bench[self.host_w].pause(ready_if(port.takes_data(now)));
        bench[self.host_ar].pause(ready_if(port.takes_read()));
        if let Some(response) = port.write_response(now) {
            bench[self.host_b].send([u32::from(response)]);
        }
        if bench[self.host_r].is_empty()
            && let Some(beat) = port.read_data(now)
        {
            let mut words = Vec::with_capacity(self.beat_words + 3);
            let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            words.extend(beat.data.chunks_exact(4).map(word));
            words.extend([u32::from(beat.id), u32::from(beat.response), u32::from(beat.last)]);
            bench[self.host_r].send(words);
        }
        // One access at a time, so that a load finds every store before it.
        if self.stores + self.loads == 0
            && let Some(access) = bars.arrived(now)
        {
            note(Event::Bar(access));
            let pin = |address: u64| [u32::try_from(address).expect("the register space is small")];
            match access {
                Access::Store { address, data, strobe } => {
                    self.stores += 1;
                    bench[self.bar_aw].send(pin(address));
                    let [low, high] = halves(data);
                    bench[self.bar_w].send([low, high, u32::from(strobe)]);
                }
                Access::Load { address } => {
                    self.loads += 1;
                    bench[self.bar_ar].send(pin(address));
                }
            }
        }
    }

    /// After it: what the host has taken.
    ///
    /// # Panics
    /// When the card breaks the contract of its ports.
    pub(crate) fn after(
        &mut self,
        bench: &mut Bench,
        port: &mut Port,
        bars: &mut Bars,
        note: &mut impl FnMut(Event),
    ) {
        let now = bench.cycle() - 1;
        bench[self.host_aw].each(|words| {
            let (address, beats) = (wide(&words[..2]), u64::from(words[2]) + 1);
            note(Event::Write { address, beats });
            port.write(address, beats);
        });
        bench[self.host_w].each(|words| {
            let (data, rest) = words.split_at(self.beat_words);
            let (strobe, last) = rest.split_at(rest.len() - 1);
            note(Event::Data { last: last[0] == 1 });
            let mut bytes = [0; WIDEST];
            for (bytes, word) in bytes.chunks_exact_mut(4).zip(data) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            port.write_data(now, &bytes[..4 * data.len()], wide(strobe), last[0] == 1);
        });
        bench[self.host_ar].each(|words| {
            let (address, beats) = (wide(&words[..2]), u64::from(words[2]) + 1);
            note(Event::Read { address, beats });
            port.read(now, address, beats, byte(words[3]));
        });
        bench[self.bar_b].each(|_| self.stores -= 1);
        bench[self.bar_r].each(|words| {
            self.loads -= 1;
            bars.answer(now, wide(&words[..2]));
        });
        bench[self.irq].each(|words| note(Event::Interrupt { vector: byte(words[0]) }));
    }
}
