//! Pause frames: the far end asks for quiet. IEEE 802.3 annex 31B stops all, 802.1Qbb (PFC) single classes.

use stroma_abi::Field;
use stroma_abi::wire::ethernet::ethertype;
use stroma_abi::wire::{Ethernet, Mac, Tag};

/// Ethernet type of MAC control frames.
const MAC_CONTROL: u16 = 0x8808;
/// Stop everything.
const PAUSE: u16 = 0x0001;
/// Stop some classes.
const CLASS_PAUSE: u16 = 0x0101;
/// Where pause frames are sent; no bridge forwards them.
const ADDRESS: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// Bytes of a frame without FCS.
const LENGTH: usize = 60;

const OPCODE: Field = Field::big(Ethernet::LEN, 0, 16);
/// Of [`PAUSE`].
const TIME: Field = Field::big(Ethernet::LEN + 2, 0, 16);
/// Of [`CLASS_PAUSE`]: bit i says that class i is meant.
const ENABLED: Field = Field::big(Ethernet::LEN + 2, 0, 16);
/// Of [`CLASS_PAUSE`], for class 0; those of the others follow.
const CLASS_TIME: Field = Field::big(Ethernet::LEN + 4, 0, 16);

/// Something for each of the eight classes of service.
pub type Classes<T> = [T; 8];

/// What a pause frame asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// Per class, how long to stop, in units of 512 bit times; 0 ends a pause. Classes not named go on as they are.
    pub quanta: Classes<Option<u16>>,
}

impl PauseFrame {
    /// Reads a frame; `None` when it is something else.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let ethernet = Ethernet::parse(frame)?;
        if ethernet.ethertype != MAC_CONTROL || frame.len() < CLASS_TIME.at(14).end() {
            return None;
        }
        match OPCODE.get(frame) {
            PAUSE => Some(Self { quanta: [Some(TIME.get(frame)); 8] }),
            CLASS_PAUSE => {
                let enabled: u16 = ENABLED.get(frame);
                let time =
                    |class: usize| (enabled >> class & 1 == 1).then(|| CLASS_TIME.at(2 * class).get(frame));
                Some(Self { quanta: std::array::from_fn(time) })
            }
            _ => None,
        }
    }

    /// The frame that asks for this: of PFC, unless it means all classes alike.
    #[must_use]
    pub fn to_bytes(&self, source: Mac) -> Vec<u8> {
        let mut frame = vec![0; LENGTH];
        Ethernet { destination: ADDRESS, source, ethertype: MAC_CONTROL }.emit(&mut frame);
        if let ([Some(all), ..], true) = (self.quanta, self.quanta.iter().all(|time| *time == self.quanta[0]))
        {
            OPCODE.set(&mut frame, PAUSE);
            TIME.set(&mut frame, all);
            return frame;
        }
        OPCODE.set(&mut frame, CLASS_PAUSE);
        let mut enabled = 0_u16;
        for (class, quanta) in self.quanta.iter().enumerate() {
            enabled |= u16::from(quanta.is_some()) << class;
            CLASS_TIME.at(2 * class).set(&mut frame, quanta.unwrap_or(0));
        }
        ENABLED.set(&mut frame, enabled);
        frame
    }
}

/// The class of a frame: its tag's priority; 0 without a tag.
pub(super) fn class_of(frame: &[u8]) -> usize {
    let is_tagged = Ethernet::parse(frame).is_some_and(|ethernet| ethernet.ethertype == ethertype::TAG);
    let tag = frame.get(Ethernet::LEN..).filter(|_| is_tagged).and_then(Tag::parse);
    tag.map_or(0, |tag| usize::from(tag.priority))
}
