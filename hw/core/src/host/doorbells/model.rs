//! The doorbells in plain Rust, a store at a time.

use stroma_abi::regs::Reg;
use stroma_abi::regs::map::{PUSH_WINDOW, PUSH_WINDOWS, doorbells};

use crate::host::work::{CqDoorbell, PUSH_UNITS, PageStore, SendDoorbell};
use crate::transport::records::ReceiveDoorbell;
use rust_hdl::prelude::Bits;
use stroma_abi::desc::wqe::UNIT;

/// What a store comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A word of a push window: nothing to be seen.
    Kept,
    /// It means nothing.
    Bad,
    /// A send doorbell; or a commit with the units that may be handed over, none if words are missing.
    Send(SendDoorbell, Vec<Bits<512>>),
    /// A receive queue's doorbell.
    Receive(ReceiveDoorbell),
    /// A CQ's doorbell.
    Cq(CqDoorbell),
}

/// A push window.
#[derive(Clone, Debug)]
struct Window {
    bytes: [u8; PUSH_WINDOW],
    /// Which of its words of eight bytes are there.
    words: [bool; PUSH_WINDOW / 8],
}

impl Default for Window {
    fn default() -> Self {
        Self { bytes: [0; PUSH_WINDOW], words: [false; PUSH_WINDOW / 8] }
    }
}

/// The windows of all pages.
#[derive(Clone, Debug)]
pub struct Model {
    pages: Vec<[Window; PUSH_WINDOWS]>,
}

impl Model {
    /// `2^log` pages with empty windows.
    #[must_use]
    pub fn new(log: usize) -> Self {
        Self { pages: vec![Default::default(); 1 << log] }
    }

    /// Takes one store.
    ///
    /// # Panics
    /// Never: the numbers come from fields that are narrow enough.
    pub fn store(&mut self, store: &PageStore) -> Outcome {
        let (page, offset, data) = (store.page.index(), store.offset.index(), u64::from(store.data));
        let is_whole = store.strb == Bits::<8>::mask();
        let Some(windows) = self.pages.get_mut(page) else { return Outcome::Bad };
        if (doorbells::PUSH.offset..doorbells::PUSH.end()).contains(&offset) {
            let place = offset - doorbells::PUSH.offset;
            let (window, at) = (&mut windows[place / PUSH_WINDOW], place % PUSH_WINDOW);
            window.words[at / 8] = is_whole;
            if is_whole {
                window.bytes[at..at + 8].copy_from_slice(&data.to_le_bytes());
            }
            return Outcome::Kept;
        }
        if !is_whole {
            return Outcome::Bad;
        }
        if offset == doorbells::SEND.offset {
            let [qpn, producer] = ["queue_pair", "producer"].map(|name| part(&doorbells::SEND, name, data));
            let doorbell = SendDoorbell {
                qpn: qpn.into(),
                page: store.page,
                producer: producer.into(),
                ..SendDoorbell::default()
            };
            return Outcome::Send(doorbell, Vec::new());
        }
        for (reg, queue, shared) in
            [(&doorbells::RECEIVE, "queue_pair", false), (&doorbells::SHARED_RECEIVE, "queue", true)]
        {
            if offset == reg.offset {
                let [number, producer] = [queue, "producer"].map(|name| part(reg, name, data));
                return Outcome::Receive(ReceiveDoorbell {
                    shared,
                    number: number.into(),
                    page: store.page,
                    producer: producer.into(),
                });
            }
        }
        if offset == doorbells::COMPLETION.offset {
            let [cq, consumer, arm] =
                ["queue", "consumer", "arm"].map(|name| part(&doorbells::COMPLETION, name, data));
            let page = store.page;
            return Outcome::Cq(CqDoorbell {
                cq: cq.into(),
                page,
                consumer: consumer.into(),
                arm: arm.into(),
            });
        }
        if offset == doorbells::PUSH_COMMIT.offset {
            let [qpn, index, units, window] = ["queue_pair", "index", "units", "window"]
                .map(|name| part(&doorbells::PUSH_COMMIT, name, data));
            let window = &mut windows[usize::try_from(window).expect("two bits")];
            let count = usize::try_from(units).expect("four bits");
            let words = std::mem::replace(&mut window.words, [false; PUSH_WINDOW / 8]);
            if !(1..=PUSH_UNITS).contains(&count) {
                return Outcome::Bad;
            }
            let is_there = words[..count * UNIT / 8].iter().all(|word| *word);
            let pushed: Vec<Bits<512>> = window.bytes[..if is_there { count * UNIT } else { 0 }]
                .chunks(UNIT)
                .map(crate::pack::from_bytes)
                .collect();
            let doorbell = SendDoorbell {
                qpn: qpn.into(),
                page: store.page,
                producer: ((index + units) & 0xffff).into(),
                commits: true,
                units: (pushed.len() as u64).into(),
            };
            return Outcome::Send(doorbell, pushed);
        }
        Outcome::Bad
    }
}

/// A named part of what was stored to a register.
fn part(reg: &Reg, name: &str, data: u64) -> u64 {
    let entry = reg.fields.iter().find(|entry| entry.name == name).expect("the register map has this part");
    u64::try_from(entry.field.read(&data.to_le_bytes())).expect("a part of 64 bits")
}
