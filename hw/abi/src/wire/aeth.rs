//! Acknowledge extended transport header (IBTA 9.3) and the meanings of its syndrome.

use crate::{Psn, layout::layout};

layout! {
    /// What an acknowledgement carries, and the first and last packet of a READ response.
    Aeth: Big, 4 bytes;
    SYNDROME syndrome: u8  = 0, 0,  8, "acknowledge, RNR or NAK, and its detail";
    MSN      msn:      Psn = 1, 0, 24, "messages completed by the responder, modulo 2^24";
}

impl Aeth {
    /// The part of the syndrome that tells what it is.
    pub const KIND: crate::Field = crate::Field::big(0, 1, 2);
    /// The part of the syndrome that holds credits, timer or code.
    pub const DETAIL: crate::Field = crate::Field::big(0, 3, 5);
}

/// A syndrome, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// All up to this PSN arrived. The credit code is [`CREDITS`]' index; 31 gives no limit.
    Ack {
        /// Index into [`CREDITS`].
        credits: u8,
    },
    /// The receiver was not ready: send again after the time in [`RNR_TIMER_US`].
    RnrNak {
        /// Index into [`RNR_TIMER_US`].
        timer: u8,
    },
    /// The request was refused.
    Nak(NakCode),
    /// A value the specification keeps for later.
    Reserved(u8),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NakCode {
    /// A packet is missing; send again from the PSN of this NAK.
    PsnSequence = 0,
    /// The request breaks a rule of the transport.
    InvalidRequest = 1,
    /// Key, bounds or rights do not allow it.
    RemoteAccess = 2,
    /// The responder failed.
    RemoteOperational = 3,
    /// For reliable datagrams, which RoCE lacks.
    InvalidRdRequest = 4,
}

impl NakCode {
    /// Every code, by number.
    pub const ALL: [Self; 5] = [
        Self::PsnSequence,
        Self::InvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperational,
        Self::InvalidRdRequest,
    ];

    /// A short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PsnSequence => "psn-sequence",
            Self::InvalidRequest => "invalid-request",
            Self::RemoteAccess => "remote-access",
            Self::RemoteOperational => "remote-operational",
            Self::InvalidRdRequest => "invalid-rd-request",
        }
    }
}

impl Syndrome {
    const ACK: u8 = 0b000;
    const RNR: u8 = 0b001;
    const NAK: u8 = 0b011;

    /// What eight bits mean.
    #[must_use]
    pub fn decode(bits: u8) -> Self {
        let detail = bits & 0x1f;
        match (bits >> 5, NakCode::ALL.get(usize::from(detail))) {
            (Self::ACK, _) => Self::Ack { credits: detail },
            (Self::RNR, _) => Self::RnrNak { timer: detail },
            (Self::NAK, Some(code)) => Self::Nak(*code),
            _ => Self::Reserved(bits),
        }
    }

    /// The eight bits. Credit and timer codes keep their low five bits.
    #[must_use]
    pub const fn encode(self) -> u8 {
        match self {
            Self::Ack { credits } => Self::ACK << 5 | credits & 0x1f,
            Self::RnrNak { timer } => Self::RNR << 5 | timer & 0x1f,
            Self::Nak(code) => Self::NAK << 5 | code as u8,
            Self::Reserved(bits) => bits,
        }
    }
}

/// Messages the requester may send beyond the acknowledged one, by credit code. Code 31 means that
/// the responder does not count.
pub const CREDITS: [u16; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
    4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

/// Microseconds to wait after an RNR NAK, by timer code. Code 0 is the longest.
pub const RNR_TIMER_US: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840, 5120, 7680,
    10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680, 491_520,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_have_their_codes() {
        assert_eq!(Syndrome::decode(0x1f), Syndrome::Ack { credits: 31 });
        assert_eq!(Syndrome::decode(0x2c), Syndrome::RnrNak { timer: 12 });
        assert_eq!(Syndrome::decode(0x60), Syndrome::Nak(NakCode::PsnSequence));
        assert_eq!(Syndrome::decode(0x62), Syndrome::Nak(NakCode::RemoteAccess));
        assert_eq!(Syndrome::decode(0x65), Syndrome::Reserved(0x65));
        assert_eq!(Syndrome::decode(0x40), Syndrome::Reserved(0x40));
        assert_eq!(Syndrome::decode(0x80), Syndrome::Reserved(0x80));
    }

    #[test]
    fn every_syndrome_encodes_to_itself() {
        for bits in 0..=u8::MAX {
            assert_eq!(Syndrome::decode(bits).encode(), bits);
        }
    }

    #[test]
    fn credits_and_timers_double_every_second_step() {
        assert!((4..29).all(|code| CREDITS[code + 2] == 2 * CREDITS[code]));
        assert!((4..30).all(|code| RNR_TIMER_US[code + 2] == 2 * RNR_TIMER_US[code]));
        assert_eq!(RNR_TIMER_US[0], 2 * RNR_TIMER_US[30]);
    }

    #[test]
    fn small_codes_have_the_values_of_the_specification() {
        assert_eq!((RNR_TIMER_US[1..6].to_vec(), RNR_TIMER_US[12]), (std::vec![10, 20, 30, 40, 60], 640));
        assert_eq!((CREDITS[..6].to_vec(), CREDITS[30]), (std::vec![0, 1, 2, 3, 4, 6], 32768));
    }
}
