//! Whole work requests: head and body to bytes and back.

use super::{
    Parameters, Sge, SgeList, WorkOp, WqeHead,
    rpc::PARAMETERS_MAX,
    sge::SGE_MAX,
    wqe::{AtomicOperands, BODY_AT, SECOND_AT, UNIT, UNITS_MAX, WindowBind},
};
use crate::wire::RpcTarget;

/// What follows the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Nothing.
    Nop,
    /// What a memory window is to stand for.
    Window(WindowBind),
    /// Pieces of local memory: source of SEND and WRITE, destination of READ.
    Gather(SgeList),
    /// The payload itself.
    Inline(&'a [u8]),
    /// Operands, and where the original value goes.
    Atomic {
        /// Operands.
        operands: AtomicOperands,
        /// Eight bytes of local memory.
        result: Sge,
    },
    /// RPC with parameters.
    Rpc {
        /// Where the answer goes.
        result: Sge,
        /// Parameters.
        parameters: Parameters,
    },
    /// RPC with a payload stream.
    RpcWrite {
        /// Where the answer goes.
        result: Sge,
        /// The payload, parameters first.
        payload: SgeList,
    },
}

/// A request: head and body that agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wqe<'a> {
    head: WqeHead,
    body: Body<'a>,
}

/// Why bytes or values do not make a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WqeError {
    /// The op-code is no [`WorkOp`].
    UnknownOpcode {
        /// Value of the field.
        opcode: u8,
    },
    /// The operation has another kind of body.
    WrongBody {
        /// The operation.
        op: WorkOp,
    },
    /// More units are needed than a request may have, or than it says it has.
    Units {
        /// Units needed.
        need: usize,
        /// Units allowed.
        have: usize,
    },
    /// The bytes end before the request does.
    Short {
        /// Bytes needed.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// `length` does not agree with the body.
    Length {
        /// Value of the field.
        length: u32,
        /// Bytes of the body.
        body: u64,
    },
    /// An empty message with 16 entries, which `sge_count` cannot say.
    SgeCount,
}

impl core::fmt::Display for WqeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownOpcode { opcode } => write!(f, "WQE op-code {opcode:#04x} is not defined"),
            Self::WrongBody { op } => write!(f, "WQE of {op:?} has the body of another operation"),
            Self::Units { need, have } => write!(f, "WQE needs {need} units, has {have}"),
            Self::Short { need, have } => write!(f, "WQE of {need} bytes in a buffer of {have}"),
            Self::Length { length, body } => {
                write!(f, "WQE length {length}, but its body holds {body} bytes")
            }
            Self::SgeCount => f.write_str("WQE of length 0 with 16 scatter/gather entries"),
        }
    }
}

impl core::error::Error for WqeError {}

impl<'a> Wqe<'a> {
    /// Joins head and body. `units`, `sge_count`, `inline`, `length` and an RPC's `parameter_words` follow from
    /// the body and are set here.
    ///
    /// # Errors
    /// When the body is not the operation's, or too large for [`UNITS_MAX`] units.
    pub fn new(mut head: WqeHead, body: Body<'a>) -> Result<Self, WqeError> {
        let op = WorkOp::from_code(head.opcode).ok_or(WqeError::UnknownOpcode { opcode: head.opcode })?;
        if !belongs(op, &body) {
            return Err(WqeError::WrongBody { op });
        }
        let Extent { end, sges, bytes } = body.extent();
        let need = end.div_ceil(UNIT);
        if need > UNITS_MAX {
            return Err(WqeError::Units { need, have: UNITS_MAX });
        }
        if sges == SGE_MAX && bytes == 0 {
            return Err(WqeError::SgeCount);
        }
        head.length = u32::try_from(bytes).map_err(|_| WqeError::Length { length: u32::MAX, body: bytes })?;
        head.units = need.to_le_bytes()[0];
        head.sge_count = (sges % SGE_MAX).to_le_bytes()[0];
        head.inline = matches!(body, Body::Inline(_));
        if let Body::Rpc { parameters, .. } = &body {
            let target = RpcTarget::from_address(head.remote);
            head.remote = RpcTarget { parameter_words: parameters.words(), ..target }.to_address();
        }
        Ok(Self { head, body })
    }

    /// The first half unit.
    #[must_use]
    pub const fn head(&self) -> &WqeHead {
        &self.head
    }

    /// What follows it.
    #[must_use]
    pub const fn body(&self) -> &Body<'a> {
        &self.body
    }

    /// Bytes in the send queue.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        usize::from(self.head.units) * UNIT
    }

    /// Writes the request over the front of `bytes`, whole units, and returns how many bytes they are.
    ///
    /// # Errors
    /// When `bytes` is shorter than [`Self::encoded_len`].
    pub fn encode(&self, bytes: &mut [u8]) -> Result<usize, WqeError> {
        let (need, have) = (self.encoded_len(), bytes.len());
        let request = bytes.get_mut(..need).ok_or(WqeError::Short { need, have })?;
        request.fill(0);
        self.head.emit(request);
        let (first, second) = request[BODY_AT..].split_at_mut(SECOND_AT - BODY_AT);
        match &self.body {
            Body::Nop => {}
            Body::Window(window) => window.emit(&mut request[BODY_AT..]),
            Body::Gather(list) => list.encode(&mut request[BODY_AT..]),
            Body::Inline(data) => request[BODY_AT..][..data.len()].copy_from_slice(data),
            Body::Atomic { operands, result } => {
                operands.emit(first);
                result.emit(second);
            }
            Body::Rpc { result, parameters } => {
                result.emit(first);
                second[..parameters.as_bytes().len()].copy_from_slice(parameters.as_bytes());
            }
            Body::RpcWrite { result, payload } => {
                result.emit(first);
                payload.encode(second);
            }
        }
        Ok(need)
    }

    /// Reads the request at the front of `bytes`. Units beyond those the body needs are legal and empty.
    ///
    /// # Errors
    /// When the bytes end too early, the op-code is unknown, or head and body contradict each other.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WqeError> {
        let short = |need| WqeError::Short { need, have: bytes.len() };
        let head = WqeHead::parse(bytes).ok_or(short(UNIT))?;
        let op = WorkOp::from_code(head.opcode).ok_or(WqeError::UnknownOpcode { opcode: head.opcode })?;
        let units = usize::from(head.units);
        if !(1..=UNITS_MAX).contains(&units) {
            return Err(WqeError::Units { need: units.max(1), have: units.min(UNITS_MAX) });
        }
        let request = bytes.get(..units * UNIT).ok_or(short(units * UNIT))?;
        let body = Body::decode(op, &head, request)?;
        if !belongs(op, &body) || head.inline != matches!(body, Body::Inline(_)) {
            return Err(WqeError::WrongBody { op });
        }
        let body_bytes = body.extent().bytes;
        if body_bytes != u64::from(head.length) {
            return Err(WqeError::Length { length: head.length, body: body_bytes });
        }
        Ok(Self { head, body })
    }
}

/// What a body makes of its head.
struct Extent {
    /// End in the request.
    end: usize,
    /// Scatter/gather entries.
    sges: usize,
    /// Bytes of the message.
    bytes: u64,
}

impl<'a> Body<'a> {
    fn extent(&self) -> Extent {
        let (end, sges, bytes) = match self {
            Self::Nop => (BODY_AT, 0, 0),
            Self::Window(_) => (UNIT, 0, 0),
            Self::Gather(list) => (BODY_AT + list.encoded_len(), list.as_slice().len(), list.total()),
            Self::Inline(data) => (BODY_AT + data.len(), 0, data.len() as u64),
            Self::Atomic { .. } => (UNIT, 1, 8),
            Self::Rpc { parameters, .. } => {
                let len = parameters.as_bytes().len();
                (SECOND_AT + len, 1, len as u64)
            }
            Self::RpcWrite { payload, .. } => {
                (SECOND_AT + payload.encoded_len(), payload.as_slice().len(), payload.total())
            }
        };
        Extent { end, sges, bytes }
    }

    fn decode(op: WorkOp, head: &WqeHead, request: &'a [u8]) -> Result<Self, WqeError> {
        let (first, second) = (&request[BODY_AT..], &request[SECOND_AT..]);
        let length = usize::try_from(head.length).unwrap_or(usize::MAX);
        let have = request.len() / UNIT;
        let too_long = |end: usize| WqeError::Units { need: end.div_ceil(UNIT), have };
        let one = |bytes| Sge::parse(bytes).ok_or(too_long(UNIT));
        let list = |bytes, at| {
            let count = if head.sge_count == 0 && length > 0 { SGE_MAX } else { usize::from(head.sge_count) };
            SgeList::decode(count, bytes).ok_or(too_long(at + count * Sge::LEN))
        };
        Ok(match op {
            WorkOp::Nop | WorkOp::Invalidate => Self::Nop,
            WorkOp::Bind => Self::Window(WindowBind::parse(first).ok_or(too_long(UNIT))?),
            WorkOp::CmpSwap | WorkOp::FetchAdd => {
                let operands = AtomicOperands::parse(first).ok_or(too_long(UNIT))?;
                Self::Atomic { operands, result: one(second)? }
            }
            WorkOp::Rpc => {
                let bytes = second.get(..length).ok_or(too_long(SECOND_AT.saturating_add(length)))?;
                let wrong = WqeError::Length { length: head.length, body: PARAMETERS_MAX as u64 };
                let parameters = Parameters::new(bytes).ok_or(wrong)?;
                if RpcTarget::from_address(head.remote).parameter_words != parameters.words() {
                    return Err(wrong);
                }
                Self::Rpc { result: one(first)?, parameters }
            }
            WorkOp::RpcWrite => Self::RpcWrite { result: one(first)?, payload: list(second, SECOND_AT)? },
            _ if head.inline => {
                Self::Inline(first.get(..length).ok_or(too_long(BODY_AT.saturating_add(length)))?)
            }
            _ => Self::Gather(list(first, BODY_AT)?),
        })
    }
}

fn belongs(op: WorkOp, body: &Body<'_>) -> bool {
    match op {
        WorkOp::Nop | WorkOp::Invalidate => matches!(body, Body::Nop),
        WorkOp::Bind => matches!(body, Body::Window(_)),
        WorkOp::Send
        | WorkOp::SendImm
        | WorkOp::SendInv
        | WorkOp::Write
        | WorkOp::WriteImm
        | WorkOp::Gather => {
            matches!(body, Body::Gather(_) | Body::Inline(_))
        }
        WorkOp::Read | WorkOp::Scatter => matches!(body, Body::Gather(_)),
        WorkOp::CmpSwap | WorkOp::FetchAdd => matches!(body, Body::Atomic { .. }),
        WorkOp::Rpc => matches!(body, Body::Rpc { .. }),
        WorkOp::RpcWrite => matches!(body, Body::RpcWrite { .. }),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
