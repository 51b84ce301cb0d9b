//! Queue pairs whose messages may be lost: what arrives says which of them it is.

use stroma_sim::model::Received;

use super::receiver::Message;

/// What became of messages that might be lost, each with a receive of the far side to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Those that completed a receive.
    pub arrived: u64,
    /// Those that did not.
    pub lost: u64,
    /// Those that completed one more.
    pub doubled: u64,
    /// Those that came behind one posted later.
    pub overtaken: u64,
    /// WRITEs without immediate data, of which nobody hears.
    pub writes: u64,
    /// Those of them whose bytes are all there, but where others went.
    pub whole: u64,
}

impl Fate {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.overtaken += other.overtaken;
        self.writes += other.writes;
        self.whole += other.whole;
    }
}

/// A message, and how often it came.
struct Sent {
    message: Message,
    arrivals: u64,
}

/// The messages of a queue pair, each to be told from all others.
#[derive(Default)]
pub(super) struct Messages {
    sent: Vec<Sent>,
    /// How many are not behind the latest that came.
    passed: usize,
    overtaken: u64,
}

impl Messages {
    pub(super) fn push(&mut self, message: Message) {
        self.sent.push(Sent { message, arrivals: 0 });
    }

    /// The message that completed a receive, into which it put such bytes.
    pub(super) fn take(&mut self, found: &Received, bytes: &[u8]) -> Option<&Message> {
        let is_it = |message: &Message| {
            *found == message.completion(found.id)
                && (!message.kind.is_send() || bytes.starts_with(&message.bytes))
        };
        let index = self.sent.iter().position(|sent| is_it(&sent.message))?;
        let sent = &mut self.sent[index];
        self.overtaken += u64::from(sent.arrivals == 0 && index < self.passed);
        self.passed = self.passed.max(index + 1);
        sent.arrivals += 1;
        Some(&sent.message)
    }

    /// Can a message that was broken off have left this byte so far from the beginning of a receive?
    pub(super) fn leaves(&self, place: usize, byte: u8) -> bool {
        self.sent
            .iter()
            .any(|Sent { message, .. }| message.kind.is_send() && message.bytes.get(place) == Some(&byte))
    }

    pub(super) fn fate(&self) -> Fate {
        let count = |of: fn(&Sent) -> u64| self.sent.iter().map(of).sum::<u64>();
        Fate {
            arrived: count(|sent| sent.arrivals.min(1)),
            lost: count(|sent| u64::from(sent.arrivals == 0)),
            doubled: count(|sent| sent.arrivals.saturating_sub(1)),
            overtaken: self.overtaken,
            ..Fate::default()
        }
    }
}

/// A WRITE to a target.
struct Write {
    /// Number of its operation.
    id: u64,
    place: usize,
    bytes: Vec<u8>,
    has_immediate: bool,
    /// Did its immediate data come?
    has_arrived: bool,
}

impl Write {
    /// Its bytes and their places.
    fn bytes(&self) -> impl Iterator<Item = (usize, u8)> {
        (self.place..).zip(self.bytes.iter().copied())
    }
}

/// WRITEs to a target, of which any part may be lost.
#[derive(Default)]
pub(super) struct Writes(Vec<Write>);

impl Writes {
    pub(super) fn push(&mut self, id: u64, place: usize, bytes: Vec<u8>, has_immediate: bool) {
        self.0.push(Write { id, place, bytes, has_immediate, has_arrived: false });
    }

    /// The immediate data of this operation came, if it is one of these.
    pub(super) fn arrive(&mut self, id: u64) {
        self.0.iter_mut().filter(|write| write.id == id).for_each(|write| write.has_arrived = true);
    }

    /// The first place of a target that has a byte which it cannot have. That is one of those from the beginning, where no WRITE is
    /// known to have gone, or one that a WRITE has for this place; frames may overtake, so of several WRITEs each may be the last.
    pub(super) fn stray(&self, first: &[u8], found: &[u8]) -> Option<usize> {
        let mut is_good: Vec<bool> = first.iter().zip(found).map(|(first, found)| first == found).collect();
        for write in self.0.iter().filter(|write| write.has_arrived) {
            is_good[write.place..write.place + write.bytes.len()].fill(false);
        }
        for (place, byte) in self.0.iter().flat_map(Write::bytes) {
            is_good[place] |= found[place] == byte;
        }
        is_good.iter().position(|good| !good)
    }

    /// Of those without immediate data; the target is as found.
    pub(super) fn fate(&self, found: &[u8]) -> Fate {
        let mut writers = vec![0_u32; found.len()];
        self.0.iter().flat_map(Write::bytes).for_each(|(place, _)| writers[place] += 1);
        let is_whole =
            |write: &&Write| write.bytes().all(|(place, byte)| found[place] == byte || writers[place] > 1);
        let plain = || self.0.iter().filter(|write| !write.has_immediate);
        Fate {
            writes: plain().count() as u64,
            whole: plain().filter(is_whole).count() as u64,
            ..Fate::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn message(id: u64, kind: Kind, bytes: &[u8]) -> Message {
        Message { id, kind, bytes: bytes.to_vec(), solicited: false, source: None }
    }

    fn two() -> Messages {
        let mut messages = Messages::default();
        messages.push(message(0, Kind::Send, b"first"));
        messages.push(message(1, Kind::SendImm(7), b"second"));
        messages
    }

    fn take(messages: &mut Messages, which: usize, bytes: &[u8]) -> Option<u64> {
        let found = messages.sent[which].message.completion(3);
        messages.take(&found, bytes).map(|message| message.id)
    }

    #[test]
    fn what_arrives_is_told_apart_and_the_rest_is_lost() {
        let mut messages = two();
        assert_eq!(take(&mut messages, 1, b"second and what was there"), Some(1));
        assert_eq!(messages.fate(), Fate { arrived: 1, lost: 1, ..Fate::default() });
    }

    #[test]
    fn what_comes_twice_or_late_is_counted() {
        let mut messages = two();
        assert_eq!(
            [1, 0, 0].map(|which| take(&mut messages, which, b"first").is_some()),
            [false, true, true]
        );
        assert_eq!(messages.fate(), Fate { arrived: 1, lost: 1, doubled: 1, ..Fate::default() });
        let mut messages = two();
        assert_eq!(take(&mut messages, 1, b"second"), Some(1));
        assert_eq!(take(&mut messages, 0, b"first"), Some(0));
        assert_eq!(messages.fate(), Fate { arrived: 2, overtaken: 1, ..Fate::default() });
    }

    #[test]
    fn a_message_with_another_byte_length_or_number_is_none_of_them() {
        let mut messages = two();
        assert_eq!(take(&mut messages, 0, b"firsT"), None);
        let found = messages.sent[0].message.completion(3);
        assert!(messages.take(&Received { bytes: 4, ..found }, b"first").is_none());
        let found = messages.sent[1].message.completion(3);
        assert!(messages.take(&Received { immediate: Some(8), ..found }, b"second").is_none());
        assert_eq!(messages.fate(), Fate { lost: 2, ..Fate::default() });
    }

    #[test]
    fn a_message_that_was_broken_off_leaves_its_own_bytes_in_their_places() {
        let messages = two();
        assert!(messages.leaves(0, b'f') && messages.leaves(0, b's') && messages.leaves(5, b'd'));
        assert!(!messages.leaves(1, b'f') && !messages.leaves(6, b'd'));
    }

    /// Two that overlap in one place, the second with immediate data.
    fn writes() -> Writes {
        let mut writes = Writes::default();
        writes.push(0, 1, b"abc".to_vec(), false);
        writes.push(1, 3, b"xy".to_vec(), true);
        writes
    }

    #[test]
    fn parts_of_writes_may_be_there_and_nothing_else() {
        let stray = |found: &[u8]| writes().stray(b"......", found);
        for found in [b"......", b".a....", b".abc..", b".abxy.", b"...c..", b"....y."] {
            assert_eq!(stray(found), None, "{found:?}");
        }
        assert_eq!(stray(b"a....."), Some(0));
        assert_eq!(stray(b".b...."), Some(1));
        assert_eq!(stray(b".abxyy"), Some(5));
    }

    #[test]
    fn a_write_whose_immediate_data_came_is_there_as_a_whole() {
        let mut writes = writes();
        writes.arrive(1);
        assert_eq!(writes.stray(b"......", b"...xy."), None);
        assert_eq!(writes.stray(b"......", b".abcy."), None, "the other came behind it");
        assert_eq!(writes.stray(b"......", b"...x.."), Some(4));
        assert_eq!(writes.stray(b"......", b"....y."), Some(3));
    }

    #[test]
    fn a_write_is_whole_whatever_lies_over_it() {
        let whole = |found: &[u8]| writes().fate(found);
        assert_eq!(whole(b".abxy."), Fate { writes: 1, whole: 1, ..Fate::default() });
        assert_eq!(whole(b".a.xy."), Fate { writes: 1, whole: 0, ..Fate::default() });
    }
}
