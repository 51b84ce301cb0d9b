//! The port in plain Rust: what may come out of it, given what went in and moved.
//!
//! It follows events, not cycles. Where a reset meets an answer on its way, either outcome is right, and it takes the one it sees.

#![expect(clippy::missing_panics_doc, reason = "it panics where the port does what it must not")]

use std::collections::VecDeque;

use stroma_abi::desc::Parameters;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{RpcStatus, RpcTarget};

use crate::fabric::records::{Access, Call, Calling, Chunk};
use crate::slot::{OPEN, SlotCommand, SlotRead, SlotResponse, TRANSFER_MAX};
use crate::stream::{Beat, bytes};

/// Whether the caller is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orphan {
    /// He is not.
    #[default]
    No,
    /// He went while his answer was on its way.
    Maybe,
    /// He is.
    Yes,
}

/// A request and what comes of it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are true in any combination")]
pub struct Request {
    begin: Call,
    payload: Vec<u8>,
    is_whole: bool,
    /// Its stream was aborted.
    is_dead: bool,
    orphan: Orphan,
    ticket: u64,
    fed: usize,
    /// Bytes that were put out for it, and whether no more count.
    answer: Vec<u8>,
    is_over: bool,
    response: Option<u32>,
    /// Bytes of its chunks.
    given: usize,
    /// The kernel was reset before its answer was seen.
    is_reset: bool,
}

impl Request {
    fn target(&self) -> RpcTarget {
        RpcTarget::from_address(self.begin.target.into())
    }

    fn parameter_bytes(&self) -> usize {
        4 * usize::from(self.target().parameter_words)
    }

    fn data_bytes(&self) -> usize {
        self.begin.length.index() - self.parameter_bytes()
    }

    /// What is given of the answer, and how it ended.
    fn kept(&self) -> (&[u8], u32) {
        let most = self.target().response_max as usize;
        let status = self.response.unwrap_or(0);
        if self.answer.len() > most {
            let limit = RpcStatus::Limit as u32;
            (&self.answer[..most], if status == 0 { limit } else { status })
        } else {
            (&self.answer, status)
        }
    }

    /// A kernel may still answer it.
    fn is_unanswered(&self) -> bool {
        self.response.is_none() && !self.is_reset
    }

    /// A chunk of it without bytes that ends it.
    fn end(&self, status: u32, is_orphan: bool) -> Chunk {
        Chunk { status: u64::from(status).into(), ends: true, is_orphan, ..chunk_of(&self.begin) }
    }
}

fn chunk_of(call: &Call) -> Chunk {
    Chunk { qpn: call.qpn, pd: call.pd, path_mtu: call.path_mtu, place: call.place, ..Chunk::default() }
}

/// Bytes of a path MTU.
#[must_use]
pub fn mtu(call: &Call) -> usize {
    128 << call.path_mtu.index()
}

/// The twin of a port.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    requests: Vec<Request>,
    /// Those without a command; with one and without an answer; those whose data is awaited.
    waiting: VecDeque<usize>,
    open: VecDeque<usize>,
    feeding: VecDeque<usize>,
    /// Ends of streams that are no more.
    told: VecDeque<Chunk>,
    /// By the number of a stream: its request, once it has come, and whether it was aborted.
    streams: Vec<(Option<usize>, bool)>,
    /// Stream that may be reserved for, and whose it is.
    pub reserving: Option<(usize, u64)>,
    next_ticket: u64,
    may_skip: bool,
    limit_due: bool,
    /// Statuses told, in order of chunks that end.
    pub statuses: Vec<u32>,
    /// Orphans among them.
    pub orphans: usize,
}

impl Twin {
    /// A packet is reserved; the number of its stream, if it begins one.
    pub fn reserve(&mut self, call: &Call) -> Option<usize> {
        let qpn = u64::from(call.qpn);
        if call.calling == Calling::Begins as u64 {
            if call.ends {
                return None;
            }
            self.streams.push((None, false));
            self.reserving = Some((self.streams.len() - 1, qpn));
            return Some(self.streams.len() - 1);
        }
        if call.ends && self.reserving.is_some_and(|(_, owner)| owner == qpn) {
            self.reserving = None;
        }
        None
    }

    /// The stream under way is aborted.
    pub fn abort(&mut self) {
        // None: the kernel was reset in the middle of it.
        if let Some((stream, _)) = self.reserving.take() {
            self.kill(stream);
        }
    }

    fn kill(&mut self, stream: usize) {
        self.streams[stream].1 = true;
        if let Some(request) = self.streams[stream].0 {
            self.requests[request].is_dead = true;
        }
        if self.reserving.is_some_and(|(number, _)| number == stream) {
            self.reserving = None;
        }
    }

    /// A call has come, with the payload before it.
    pub fn arrive(&mut self, call: &Call, payload: &[u8], stream: Option<usize>) {
        if call.calling == Calling::Begins as u64 {
            if call.gives_up {
                if let Some(stream) = stream {
                    self.kill(stream);
                }
                return;
            }
            let is_dead = stream.is_some_and(|stream| self.streams[stream].1);
            self.requests.push(Request {
                begin: *call,
                payload: payload.to_vec(),
                is_whole: call.ends,
                is_dead,
                ..Request::default()
            });
            let request = self.requests.len() - 1;
            if let Some(stream) = stream {
                self.streams[stream].0 = Some(request);
            }
            if !is_dead {
                self.waiting.push_back(request);
            }
            return;
        }
        let stream = stream.expect("it goes on with a stream");
        if call.gives_up {
            self.kill(stream);
            return;
        }
        let is_dead = self.streams[stream].1;
        if let Some(request) = self.streams[stream].0 {
            self.requests[request].payload.extend(payload);
            self.requests[request].is_whole = call.ends;
        }
        if is_dead && call.ends {
            let status = u64::from(RpcStatus::Aborted as u32).into();
            self.told.push_back(Chunk { ends: true, status, ..chunk_of(call) });
        }
    }

    /// A queue pair has stopped or begins anew; is the stream under way its own?
    pub fn change(&mut self, qpn: u64) -> bool {
        for request in self.waiting.iter().chain(&self.open) {
            let request = &mut self.requests[*request];
            if request.begin.qpn == qpn && request.orphan != Orphan::Yes {
                let has_end = request.response.is_some() || request.is_reset;
                request.orphan = if has_end { Orphan::Maybe } else { Orphan::Yes };
            }
        }
        self.reserving.is_some_and(|(_, owner)| owner == qpn)
    }

    /// The request that waits for this command. Streams that were aborted before theirs may be left out.
    fn asked(&mut self, command: &SlotCommand) -> usize {
        loop {
            let number = self.waiting.pop_front().unwrap_or_else(|| panic!("nobody asked for {command:x?}"));
            let request = &self.requests[number];
            let (target, words) = (request.target(), request.parameter_bytes());
            let parameters = Parameters::new(&request.payload[..words]).expect("whole words");
            let expected = SlotCommand {
                ticket: command.ticket,
                qpn: request.begin.qpn,
                op: u64::from(target.operation).into(),
                flags: u64::from(target.flags).into(),
                parameter_words: u64::from(target.parameter_words).into(),
                key: request.begin.key,
                request_len: request.begin.length,
                response_max: u64::from(target.response_max).into(),
                pd: request.begin.pd,
                parameters: crate::pack::from_bytes(parameters.block()),
            };
            if request.is_dead && *command != expected {
                self.may_skip = true;
                continue;
            }
            assert_eq!(*command, expected);
            return number;
        }
    }

    /// A command is taken.
    pub fn command(&mut self, command: &SlotCommand) {
        let number = self.asked(command);
        let ticket = u64::from(command.ticket);
        assert!(
            ticket == self.next_ticket || self.may_skip,
            "ticket {ticket} instead of {}",
            self.next_ticket
        );
        (self.next_ticket, self.may_skip) = ((ticket + 1) % OPEN as u64, false);
        let request = &mut self.requests[number];
        request.ticket = ticket;
        self.open.push_back(number);
        if request.data_bytes() > 0 {
            self.feeding.push_back(number);
        }
        let is_open = |number: &&usize| self.requests[**number].is_unanswered();
        let mut open = self.open.iter().filter(is_open).map(|number| self.requests[*number].begin.qpn);
        let first = open.next();
        assert!(open.all(|qpn| Some(qpn) == first), "a kernel works for one queue pair at a time");
        assert!(self.open.iter().filter(is_open).count() <= OPEN, "too many are open");
    }

    /// A beat for the kernel; was it the last of its request?
    pub fn data<const D: usize>(&mut self, beat: &Beat<D>) -> bool {
        let request = &mut self.requests[*self.feeding.front().expect("data is awaited")];
        let (from, data) = (request.parameter_bytes() + request.fed, bytes(&[*beat]));
        let left = request.data_bytes() - request.fed;
        assert_eq!((beat.sop, beat.err), (request.fed == 0, false), "begin of a packet");
        assert_eq!(data.len(), left.min(D / 8), "bytes of a beat");
        assert!(request.payload[from..from + data.len()] == data[..], "data at {}", request.fed);
        request.fed += data.len();
        let is_last = request.fed == request.data_bytes();
        assert_eq!(beat.eop, is_last, "end of a packet");
        if is_last {
            self.feeding.pop_front();
        }
        is_last
    }

    /// The access that a read or write becomes, by the right that its caller's own READ or WRITE takes.
    #[must_use]
    pub fn access(&self, ask: &SlotRead, right: u8) -> Access {
        let is_it = |request: &&Request| request.ticket == u64::from(ask.ticket);
        let mut open = self.open.iter().rev().map(|number| &self.requests[*number]);
        let found = open.find(is_it);
        let len = ask.len.index();
        let base = Access {
            va: ask.va,
            key: ask.key,
            len: ask.len,
            need: u64::from(rights::RPC | right).into(),
            refused: true,
            ..Access::default()
        };
        found.map_or(base, |request| Access {
            qpn: request.begin.qpn,
            pd: request.begin.pd,
            refused: request.orphan == Orphan::Yes
                || !(1..=TRANSFER_MAX).contains(&len)
                || request.begin.rights.index() & usize::from(right) == 0,
            ..base
        })
    }

    fn answering(&mut self) -> Option<&mut Request> {
        let number = *self.open.iter().find(|number| self.requests[**number].is_unanswered())?;
        Some(&mut self.requests[number])
    }

    /// The kernel has put out a beat.
    pub fn output<const D: usize>(&mut self, beat: &Beat<D>) {
        let Some(request) = self.answering() else { return };
        if request.is_over || request.orphan == Orphan::Yes {
            return;
        }
        let count = beat.nbytes.index().min(D / 8);
        request.answer.extend(bytes(&[Beat { nbytes: (D as u64 / 8).into(), ..*beat }]).iter().take(count));
        request.is_over = beat.eop || count < D / 8;
    }

    /// The kernel has answered.
    pub fn respond(&mut self, response: &SlotResponse) {
        let Some(request) = self.answering() else { return };
        if request.ticket == u64::from(response.ticket) {
            request.response = Some(u32::try_from(u64::from(response.status)).expect("32 bits"));
        } else {
            request.answer.clear();
            request.is_over = false;
        }
    }

    /// The kernel is reset, since the oldest has come to its limit, or a stream was aborted. `offered`: the command that it did not take.
    pub fn restart(&mut self, is_expired: bool, offered: Option<&SlotCommand>) {
        self.limit_due = is_expired;
        self.feeding.clear();
        if is_expired && self.open.is_empty() {
            let oldest = self.asked(offered.expect("the oldest has not had its command"));
            self.may_skip = true;
            self.open.push_back(oldest);
        }
        for number in std::mem::take(&mut self.open) {
            self.requests[number].is_reset = true;
            if self.requests[number].is_whole {
                self.open.push_back(number);
            } else {
                let of_it = |stream: &(Option<usize>, bool)| stream.0 == Some(number);
                let stream = self.streams.iter().position(of_it).expect("it is a stream");
                self.kill(stream);
            }
        }
        // One that waits, and whose stream was aborted, may have had a ticket.
        self.may_skip |= self.waiting.iter().any(|number| self.requests[*number].is_dead);
    }

    /// A chunk has come, with its bytes.
    pub fn chunk(&mut self, chunk: &Chunk, data: &[u8]) {
        assert_eq!(chunk.len.index(), data.len(), "bytes of {chunk:?}");
        if chunk.ends {
            self.statuses.push(u32::try_from(u64::from(chunk.status)).expect("32 bits"));
            self.orphans += usize::from(chunk.is_orphan);
        }
        if let Some(number) = self.open.front().copied() {
            if self.is_own(number, chunk, data) {
                if chunk.ends {
                    self.open.pop_front();
                } else {
                    self.requests[number].given += data.len();
                }
                return;
            }
            if self.is_forced(number, chunk) {
                self.limit_due = false;
                self.open.pop_front();
                return;
            }
        }
        if self.told.front() == Some(chunk) {
            self.told.pop_front();
            return;
        }
        let front = self.open.front().map(|number| {
            let request = &self.requests[*number];
            let (kept, status) = request.kept();
            let most = request.target().response_max;
            let (orphan, response, is_whole) = (request.orphan, request.response, request.is_whole);
            format!(
                "{:?} with {} of {} bytes (most {most}) given, {response:?} as {status}, whole {is_whole}, reset {}, {orphan:?}",
                chunk_of(&request.begin),
                request.given,
                kept.len(),
                request.is_reset
            )
        });
        panic!("{chunk:?} is expected of nobody: {front:?}, {:?}", self.told);
    }

    fn is_own(&self, number: usize, chunk: &Chunk, data: &[u8]) -> bool {
        let request = &self.requests[number];
        let (kept, status) = request.kept();
        let rest = kept.get(request.given..).unwrap_or_default();
        let piece = rest.len().min(mtu(&request.begin));
        if !chunk.ends {
            let expected = Chunk {
                offset: (request.given as u64).into(),
                len: (piece as u64).into(),
                ..chunk_of(&request.begin)
            };
            return rest.len() > piece && *chunk == expected && data == &rest[..piece];
        }
        if request.response.is_none() || !request.is_whole {
            return false;
        }
        if request.orphan != Orphan::No && chunk.is_orphan {
            return *chunk == request.end(request.response.unwrap_or(0), true)
                || *chunk == request.end(status, true);
        }
        let expected = Chunk {
            offset: (request.given as u64).into(),
            len: (rest.len() as u64).into(),
            ..request.end(status, false)
        };
        request.orphan != Orphan::Yes && rest.len() == piece && *chunk == expected && data == rest
    }

    fn is_forced(&self, number: usize, chunk: &Chunk) -> bool {
        let request = &self.requests[number];
        let status = if self.limit_due { RpcStatus::Limit } else { RpcStatus::Aborted };
        let ends = |status: RpcStatus, orphan| *chunk == request.end(status as u32, orphan);
        request.is_reset
            && ((request.orphan != Orphan::No && ends(status, true))
                || (request.orphan != Orphan::Yes && ends(status, false))
                // The last packet of a stream may not have had its turn: then that tells it.
                || (!request.begin.ends && ends(RpcStatus::Aborted, false)))
    }

    /// What is inside, for messages.
    #[must_use]
    pub fn state(&self) -> String {
        let (waiting, open, told) = (self.waiting.len(), self.open.len(), self.told.len());
        format!("{waiting} wait, {open} are open, {told} are to be told, reserving {:?}", self.reserving)
    }

    /// Is everything answered that has come?
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let lives = |number: &usize| !self.requests[*number].is_dead;
        self.open.is_empty() && self.told.is_empty() && !self.waiting.iter().any(lives)
    }
}
