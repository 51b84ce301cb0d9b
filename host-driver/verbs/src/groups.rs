//! Groups of stations that the port belongs to, and the queue pairs that get their datagrams.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex},
};

use stroma_abi::regs::map::{PORT_GROUPS, groups};
use stroma_device::{Card, compose};

use crate::{Device, Error, Port, QueuePair, QueuePairKind, Result, lock, port::halves};

/// Who belongs to which group, by the entries of the card.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    members: [Option<Member>; PORT_GROUPS],
    /// Memberships so far.
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    group: IpAddr,
    queue_pair: u32,
    /// Which membership it is, so that an old one does not end the next.
    id: u64,
}

/// A queue pair belongs to a group: datagrams for the group come to it. It leaves when this is dropped, or the queue pair is.
#[derive(Debug)]
#[must_use = "dropped, it leaves the group"]
pub struct Membership {
    device: Arc<Device>,
    group: IpAddr,
    place: usize,
    id: u64,
}

impl Port<'_> {
    /// Joins a group: datagrams for it come to this queue pair, in whatever state it is, and receives are needed as ever. A group has one
    /// member a card. Nobody is told: a switch that wants to know who listens asks by means of its own.
    ///
    /// # Errors
    /// [`Error::Lacks`] when the card has no datagrams; [`Error::NotMulticast`]; [`Error::WrongKind`] when the queue pair is not for
    /// datagrams; [`Error::OtherDevice`]; [`Error::GroupTaken`]; [`Error::NoneLeft`] when the port belongs to 16 groups; when the card cannot
    /// be reached.
    pub fn join(&self, queue_pair: &QueuePair, group: IpAddr) -> Result<Membership> {
        let device = queue_pair.device();
        self.check_same(device, "queue pair")?;
        device.check_datagrams("join of a group")?;
        let (number, kind, group) = (queue_pair.number(), queue_pair.kind(), group.to_canonical());
        if kind != QueuePairKind::Datagram {
            return Err(Error::WrongKind { operation: "join of a group", number, kind });
        }
        if !group.is_multicast() {
            return Err(Error::NotMulticast { address: group });
        }
        let (place, id) = device.groups().join(device.card(), group, number)?;
        Ok(Membership { device: Arc::clone(device), group, place, id })
    }
}

impl Membership {
    /// The group.
    #[must_use]
    pub fn group(&self) -> IpAddr {
        self.group
    }

    /// Leaves the group.
    ///
    /// # Errors
    /// When the card cannot be reached.
    pub fn leave(self) -> Result<()> {
        self.end()
    }

    fn end(&self) -> Result<()> {
        self.device
            .groups()
            .leave(self.device.card(), |place, member| (place, member.id) == (self.place, self.id))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // A card that cannot be reached takes nothing for the group either.
        let _ = self.end();
    }
}

impl Groups {
    /// The card belongs to no group: what an earlier driver joined is left.
    pub(crate) fn begin(card: &Card) -> Result<()> {
        (0..PORT_GROUPS).try_for_each(|place| disable(card, place))
    }

    /// Joins. The result is the entry, and which membership it is.
    fn join(&self, card: &Card, group: IpAddr, queue_pair: u32) -> Result<(usize, u64)> {
        let mut entries = lock(&self.entries);
        if let Some(taken) = entries.members.iter().flatten().find(|member| member.group == group) {
            return Err(Error::GroupTaken { group, queue_pair: taken.queue_pair });
        }
        let capacity = u32::try_from(PORT_GROUPS).unwrap_or(u32::MAX);
        let none_left = Error::NoneLeft { what: "groups of the port", capacity };
        let place = entries.members.iter().position(Option::is_none).ok_or(none_left)?;
        let [low, high] = halves(group);
        card.write_element(&groups::BLOCK, &groups::LOW, place, low)?;
        card.write_element(&groups::BLOCK, &groups::HIGH, place, high)?;
        // The address is whole before the entry counts.
        let member = compose(&groups::MEMBER, [("queue_pair", queue_pair.into()), ("enable", 1)]);
        card.write_element(&groups::BLOCK, &groups::MEMBER, place, member)?;
        entries.count += 1;
        let id = entries.count;
        entries.members[place] = Some(Member { group, queue_pair, id });
        Ok((place, id))
    }

    /// The queue pair ends, and its number may be another's.
    pub(crate) fn forget(&self, card: &Card, queue_pair: u32) -> Result<()> {
        self.leave(card, |_, member| member.queue_pair == queue_pair)
    }

    /// Ends memberships. An entry that the card was not told of stays taken.
    fn leave(&self, card: &Card, ends: impl Fn(usize, &Member) -> bool) -> Result<()> {
        let mut entries = lock(&self.entries);
        for (place, entry) in entries.members.iter_mut().enumerate() {
            if entry.as_ref().is_some_and(|member| ends(place, member)) {
                disable(card, place)?;
                *entry = None;
            }
        }
        Ok(())
    }
}

fn disable(card: &Card, place: usize) -> Result<()> {
    Ok(card.write_element(&groups::BLOCK, &groups::MEMBER, place, 0)?)
}
