//! Beats of 512 bits and the packets they make. Packets begin at the first byte of a beat and end with `last`.

use super::bits::{field, put};

/// `DWord`s of a beat.
pub(crate) const LANES: usize = 16;

/// One beat of a stream whose `tuser` has `USER` words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat<const USER: usize> {
    /// `tdata`.
    pub data: [u32; LANES],
    /// `tkeep`, a bit a `DWord`.
    pub keep: u16,
    /// `tuser`.
    pub user: [u32; USER],
    /// `tlast`.
    pub last: bool,
}

/// A beat of `s_axis_rq`, with 137 bits of `tuser`.
pub type RqBeat = Beat<5>;
/// A beat of `s_axis_cc`, with 81.
pub type CcBeat = Beat<3>;
/// A beat of `m_axis_cq`, with 183.
pub type CqBeat = Beat<6>;
/// A beat of `m_axis_rc`, with 161.
pub type RcBeat = Beat<6>;

/// Where a stream's `tuser` marks packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) name: &'static str,
    sop: usize,
    sop_pointer: usize,
    eop: usize,
    eop_pointer: usize,
    discontinue: usize,
}

pub(crate) const RQ: Marks =
    Marks { name: "s_axis_rq", sop: 20, sop_pointer: 22, eop: 26, eop_pointer: 28, discontinue: 36 };
pub(crate) const CC: Marks =
    Marks { name: "s_axis_cc", sop: 0, sop_pointer: 2, eop: 6, eop_pointer: 8, discontinue: 16 };
pub(crate) const CQ: Marks =
    Marks { name: "m_axis_cq", sop: 80, sop_pointer: 82, eop: 86, eop_pointer: 88, discontinue: 96 };
pub(crate) const RC: Marks =
    Marks { name: "m_axis_rc", sop: 64, sop_pointer: 68, eop: 76, eop_pointer: 80, discontinue: 96 };

/// A whole packet: its words, and `tuser` of its first beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet<const USER: usize> {
    pub(crate) words: Vec<u32>,
    pub(crate) user: [u32; USER],
}

/// Puts packets together, beat by beat, and sees to the rules of the stream.
#[derive(Debug)]
pub(crate) struct Gather<const USER: usize> {
    marks: Marks,
    words: Vec<u32>,
    user: Option<[u32; USER]>,
    /// What was offered and not taken.
    held: Option<Beat<USER>>,
}

impl<const USER: usize> Gather<USER> {
    pub(crate) fn new(marks: Marks) -> Self {
        Self { marks, words: Vec::new(), user: None, held: None }
    }

    /// Forgets a packet that has begun.
    pub(crate) fn reset(&mut self) {
        (self.user, self.held) = (None, None);
        self.words.clear();
    }

    /// One cycle: what is offered in it, and whether it is taken. Gives the packet that ends.
    ///
    /// # Panics
    /// When the stream breaks its rules.
    pub(crate) fn cycle(&mut self, offered: Option<&Beat<USER>>, ready: bool) -> Option<Packet<USER>> {
        let name = self.marks.name;
        if let Some(held) = &self.held {
            assert_eq!(
                offered,
                Some(held),
                "{name}: a beat that was offered has to stay as it is until it is taken"
            );
        }
        assert!(
            offered.is_some() || self.user.is_none(),
            "{name}: tvalid falls inside a packet, for which the block nullifies it"
        );
        self.held = offered.filter(|_| !ready).copied();
        let beat = offered.filter(|_| ready)?;
        self.check(beat);
        let user = *self.user.get_or_insert(beat.user);
        self.words.extend_from_slice(&beat.data[..beat.keep.trailing_ones() as usize]);
        beat.last.then(|| {
            self.user = None;
            Packet { words: std::mem::take(&mut self.words), user }
        })
    }

    fn check(&self, beat: &Beat<USER>) {
        let Marks { name, sop, sop_pointer, eop, eop_pointer, discontinue } = self.marks;
        let lanes = beat.keep.trailing_ones();
        assert!(
            beat.keep.checked_shr(lanes).unwrap_or(0) == 0,
            "{name}: tkeep {:#06x} has a hole",
            beat.keep
        );
        assert!(lanes > 0, "{name}: a beat without a word");
        assert!(beat.last || lanes == 16, "{name}: tkeep {:#06x} in a beat that is not the last", beat.keep);
        assert_eq!(field(&beat.user, discontinue, 1), 0, "{name}: discontinue gives a packet up");
        // Without straddling the block goes by `tlast`; whoever drives the marks drives them right.
        let (starts, ends) = (field(&beat.user, sop, 2), field(&beat.user, eop, 2));
        assert!(starts == 0 || (starts == 1 && self.user.is_none()), "{name}: is_sop {starts:#b} is wrong");
        assert!(
            starts == 0 || field(&beat.user, sop_pointer, 4) == 0,
            "{name}: is_sop_ptr points behind the start"
        );
        assert!(ends == 0 || (ends == 1 && beat.last), "{name}: is_eop {ends:#b} is wrong");
        assert!(
            ends == 0 || field(&beat.user, eop_pointer, 4) == lanes - 1,
            "{name}: is_eop0_ptr does not point to word {}",
            lanes - 1
        );
        let marked = field(self.user.as_ref().unwrap_or(&beat.user), sop, 1) == 1;
        assert!(!beat.last || marked == (ends == 1), "{name}: is_sop and is_eop are driven both or neither");
    }
}

/// Cuts a packet into beats. `user` holds what the first beat says besides the marks, and `enables` a nibble for each word
/// with the place where these nibbles stand.
pub(crate) fn beats<const USER: usize>(
    marks: Marks,
    words: &[u32],
    user: [u32; USER],
    enables: (usize, &[u8]),
) -> Vec<Beat<USER>> {
    let count = words.len().div_ceil(LANES);
    let cut = words.chunks(LANES).zip(enables.1.chunks(LANES)).enumerate();
    cut.map(|(at, (part, nibbles))| {
        let mut beat = Beat { data: [0; LANES], keep: 0, user: [0; USER], last: at + 1 == count };
        beat.data[..part.len()].copy_from_slice(part);
        beat.keep = u16::try_from((1_u32 << part.len()) - 1).expect("sixteen lanes");
        if at == 0 {
            beat.user = user;
            put(&mut beat.user, marks.sop, 2, 1);
        }
        if beat.last {
            put(&mut beat.user, marks.eop, 2, 1);
            put(&mut beat.user, marks.eop_pointer, 4, u32::try_from(part.len() - 1).expect("sixteen lanes"));
        }
        for (lane, nibble) in nibbles.iter().enumerate() {
            put(&mut beat.user, enables.0 + 4 * lane, 4, u32::from(*nibble));
        }
        beat
    })
    .collect()
}
