//! Calls in plain Rust.

use std::collections::VecDeque;

use super::{FINISHED, PENDING, PLACES, REPLAY};
use crate::fabric::records::{Call, Calling, Ended, NO_KERNEL, News};
use crate::host::work::QpChange;
use crate::transport::records::TxFailure;

/// An RPC that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) psn: u64,
    pub(super) reserved: u64,
    status: u64,
    length: u64,
    is_done: bool,
}

pub(super) struct Model {
    /// By queue pair and place.
    pub(super) known: Vec<[Option<Known>; PLACES]>,
    pub(super) questions: VecDeque<Call>,
    stopped: Vec<bool>,
}

impl Model {
    pub(super) fn new(queue_pairs: usize) -> Self {
        Self {
            known: vec![[None; PLACES]; queue_pairs],
            questions: VecDeque::new(),
            stopped: vec![false; queue_pairs],
        }
    }

    fn of(&mut self, qpn: u64) -> &mut [Option<Known>; PLACES] {
        let count = self.known.len();
        &mut self.known[usize::try_from(qpn).expect("small") % count]
    }

    /// A packet that is no question: what is handed on, and what is told?
    pub(super) fn call(&mut self, call: &Call) -> (Option<Call>, Option<News>) {
        let is_stopped =
            self.stopped[usize::try_from(u64::from(call.qpn)).expect("small") % self.known.len()];
        let call = &Call { gives_up: call.gives_up || is_stopped, ..*call };
        let has_kernel = call.kernel != u64::from(NO_KERNEL);
        if !call.ends || call.gives_up {
            return (has_kernel.then_some(*call), None);
        }
        let known = Known {
            psn: call.psn.into(),
            reserved: call.reserved.into(),
            status: call.refusal.into(),
            length: 0,
            is_done: !has_kernel,
        };
        self.of(call.qpn.into())[call.place.index()] = Some(known);
        let news = News {
            answer: u64::from(FINISHED).into(),
            qpn: call.qpn,
            place: call.place,
            status: u64::from(call.refusal).into(),
            ..News::default()
        };
        (has_kernel.then_some(*call), (!has_kernel).then_some(news))
    }

    /// An answer is complete.
    pub(super) fn ended(&mut self, ended: &Ended) -> (Option<News>, Option<u64>) {
        let known = &mut self.of(ended.qpn.into())[ended.place.index()];
        if let Some(known) = known {
            known.status = ended.status.into();
            known.length = ended.length.into();
            known.is_done |= ended.is_kept;
        }
        if ended.is_lost {
            return (None, known.map(|known| known.psn));
        }
        let news = News {
            answer: u64::from(FINISHED).into(),
            qpn: ended.qpn,
            place: ended.place,
            length: ended.length,
            status: ended.status,
            staged: !ended.is_kept,
            stage: ended.stage,
            ..News::default()
        };
        ((known.is_some() || !ended.is_kept).then_some(news), None)
    }

    pub(super) fn change(&mut self, change: &QpChange) {
        let qpn = u64::from(change.qpn);
        let place = usize::try_from(qpn).expect("small") % self.known.len();
        if change.resets {
            *self.of(qpn) = [None; PLACES];
            self.stopped[place] = false;
        } else if change.stops {
            self.stopped[place] = true;
        }
    }

    /// The oldest question is looked up.
    pub(super) fn ask(&mut self) -> Option<News> {
        let question = self.questions.pop_front().expect("a question waits");
        let mtu = 128_u64 << u64::from(question.path_mtu);
        let psn = u64::from(question.psn);
        let next = question.place.index();
        let newest_first = (1..=PLACES).map(|back| (next + PLACES - back) % PLACES);
        let known = *self.of(question.qpn.into());
        let away = |known: &Known| psn.wrapping_sub(known.psn) & 0xff_ffff;
        let (place, known) = newest_first
            .filter_map(|place| known[place].map(|known| (place, known)))
            .find(|(_, known)| away(known) < known.reserved)?;
        let packets = known.length.div_ceil(mtu).max(1);
        if known.is_done && away(&known) >= packets {
            return None;
        }
        Some(News {
            answer: u64::from(if known.is_done { REPLAY } else { PENDING }).into(),
            qpn: question.qpn,
            pd: question.pd,
            path_mtu: question.path_mtu,
            place: (place as u64).into(),
            psn: question.psn,
            msn: question.msn,
            before: (away(&known) * mtu).into(),
            length: known.length.into(),
            status: known.status.into(),
            staged: false,
            stage: 0.into(),
        })
    }
}

/// The same, of what counts: where news says nothing of a field, it is zero.
pub(super) fn what_counts(news: &News) -> News {
    let mut news = *news;
    if news.answer == u64::from(FINISHED) {
        (news.pd, news.path_mtu, news.psn, news.msn) = (0.into(), 0.into(), 0.into(), 0.into());
        news.before = 0.into();
        if !news.staged {
            news.stage = 0.into();
        }
    }
    news
}

/// What of a failure is told.
pub(super) fn failure(qpn: u64, psn: u64) -> TxFailure {
    let general = stroma_abi::desc::Status::General as u64;
    TxFailure {
        is_response: true,
        qpn: qpn.into(),
        psn: psn.into(),
        slot: 0.into(),
        status: general.into(),
        vendor: 0.into(),
    }
}

/// Is it a question?
pub(super) fn is_question(call: &Call) -> bool {
    call.calling == Calling::Again as u64
}
