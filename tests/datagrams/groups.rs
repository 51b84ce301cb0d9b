//! Groups of stations: members hear them, others do not, and connections do not mind.

use std::net::IpAddr;

use stroma_abi::Qpn;
use stroma_abi::regs::map::counters;
use stroma_abi::wire::Mac;
use stroma_sim::link::LinkConfig;
use stroma_sim::model::{Addresses, Path};
use stroma_sim::peer::Golden;
use stroma_sim::{Shared, World};
use stroma_tests::pair::{End, Pair, pattern};
use stroma_tests::widths;
use stroma_top::Profile;
use stroma_verbs::{GROUP_QP, Grh, QueuePair, Status, WorkCompletion};
use stroma_verilate::Options;

use crate::stage::{
    GOLDEN, GoldenEnd, INBOX, ROOM, check, header, key, name, path, post_receive, queue_pair, six,
};

const GOLDEN_STATION: usize = 2;

/// A group of each kind, and its Ethernet address.
fn groups() -> [(IpAddr, Mac); 2] {
    [
        ([239, 129, 2, 3].into(), Mac([0x01, 0x00, 0x5e, 0x01, 0x02, 0x03])),
        ("ff02::1:ff28:9c5a".parse().expect("an address"), Mac([0x33, 0x33, 0xff, 0x28, 0x9c, 0x5a])),
    ]
}

/// The way from a station to a group.
fn group_path(from: usize, group: (IpAddr, Mac)) -> Path {
    let remote = group.1;
    match (group.0, path(from, from, false).addresses) {
        (IpAddr::V4(group), Addresses::V4 { local, .. }) => {
            Path { remote, addresses: Addresses::V4 { local, remote: group }, ..path(from, from, false) }
        }
        (IpAddr::V6(group), _) => {
            let addresses = Addresses::V6 { local: six(from), remote: group };
            Path { remote, addresses, ..path(from, from, true) }
        }
        other => unreachable!("{other:?}"),
    }
}

/// Two cards and a golden endpoint, which belongs to both groups, on a switch; a queue pair for datagrams at each card.
struct Street {
    pair: Pair,
    golden: GoldenEnd,
    pairs: [QueuePair; 2],
}

impl Street {
    fn new(profile: Profile) -> Self {
        let mut world =
            World::new(profile, 2, &Options { seed: 7, ..Options::default() }).expect("two cards");
        world.add_peer(Box::new(Golden::default()));
        world.switch(&[0, 1, GOLDEN_STATION], LinkConfig::cable(profile));
        let shared = Shared::new(world);
        let ends = [0, 1].map(|index| End::open(&shared, index, 256));
        (0..2).for_each(|index| name(&ends[index], index));
        let pairs = [0, 1].map(|index| queue_pair(&ends[index], 0));
        let golden = GoldenEnd::new(&shared, GOLDEN_STATION, &groups().map(|(group, _)| group));
        Self { pair: Pair { shared, ends }, golden, pairs }
    }

    /// The golden end sends to a group.
    fn call(&self, group: (IpAddr, Mac), payload: &[u8]) {
        self.golden.send(group_path(GOLDEN_STATION, group), GROUP_QP, key(0), None, payload);
        self.pair.run(4000);
    }
}

/// Number and bytes of a WRITE that is under way meanwhile, and where they lie.
const WRITE: u64 = 1 << 40;
const WRITTEN: usize = 200_000;
const PLACE: usize = 700_000;

/// Receives that are done. Another request that is can only be the WRITE.
fn receives(end: &End, is_written: &mut bool) -> Vec<WorkCompletion> {
    let mut found: Vec<_> = std::iter::from_fn(|| end.poll()).collect();
    found.retain(|found| {
        assert_eq!(found.status, Status::Success, "{found:?}");
        assert!(found.is_receive || found.wr_id == WRITE, "{found:?}");
        *is_written |= !found.is_receive;
        found.is_receive
    });
    found
}

#[test]
fn members_hear_their_group_until_they_leave_it_while_a_connection_goes_on() {
    for profile in widths!() {
        let street = Street::new(profile);
        let [near, far] = &street.pair.ends;
        let connection = street.pair.connect();
        let data = pattern(1, WRITTEN);
        near.put(PLACE, &data);
        let batch = connection[0].start().wr_id(WRITE).signaled();
        batch.write(&[near.piece(PLACE, WRITTEN)], far.at(PLACE), far.memory.rkey()).post().expect("room");
        let mut is_written = false;
        for (slot, group) in groups().into_iter().enumerate() {
            post_receive(near, &street.pairs[0], slot, 1000);
            post_receive(far, &street.pairs[1], slot, 1000);
            for is_member in [false, true, false] {
                let story = format!("{profile:?}, {group:?}, member: {is_member}");
                let before = [near, far].map(|end| end.count(&counters::RX_UNWANTED));
                let port = near.device.port();
                let member = is_member.then(|| port.join(&street.pairs[0], group.0).expect("a free entry"));
                let payload = pattern(7, 300);
                street.call(group, &payload);
                drop(member);
                let found = receives(near, &mut is_written);
                assert_eq!(found.len(), usize::from(is_member), "{story}");
                assert_eq!(far.poll(), None, "{story}: the other card is none");
                let after = [near, far].map(|end| end.count(&counters::RX_UNWANTED));
                assert_eq!(
                    [after[0] - before[0], after[1] - before[1]],
                    [u64::from(!is_member), 1],
                    "{story}"
                );
                if let Some(found) = found.first() {
                    assert_eq!((found.wr_id, found.source_qp), (slot as u64, Some(GOLDEN)), "{story}");
                    assert_eq!(found.length as usize, Grh::LEN + 300, "{story}");
                    let place = near.bytes(INBOX + slot * ROOM, Grh::LEN + 300);
                    let expected = header(&group_path(GOLDEN_STATION, group), None, &payload);
                    assert_eq!(place[..Grh::LEN], expected, "{story}");
                    assert!(place[Grh::LEN..] == payload, "{story}");
                }
            }
        }
        if !is_written {
            near.expect(WRITE);
        }
        assert!(far.bytes(PLACE, WRITTEN) == data, "{profile:?}: the connection has moved its bytes");
        assert_eq!(near.count(&counters::RETRANSMITTED), 0, "{profile:?}");
    }
}

#[test]
fn each_group_has_a_queue_pair_of_its_own_and_the_key_counts() {
    for profile in widths!() {
        let street = Street::new(profile);
        let near = &street.pair.ends[0];
        let other = queue_pair(near, 0);
        let [four, six] = groups();
        let port = near.device.port();
        let members = [(&street.pairs[0], four), (&other, six)]
            .map(|(pair, group)| port.join(pair, group.0).expect("a free entry"));
        for (slot, (pair, group)) in [(&street.pairs[0], four), (&other, six)].into_iter().enumerate() {
            post_receive(near, pair, slot, 1000);
            street.call(group, b"all of you");
            let expected = header(&group_path(GOLDEN_STATION, group), None, b"all of you");
            let found = check(near, slot, GOLDEN, None, &expected, b"all of you");
            assert_eq!(found.queue_pair, pair.number(), "{profile:?}");
        }
        let before = near.count(&counters::RX_UNWANTED);
        post_receive(near, &other, 0, 1000);
        street.golden.send(group_path(GOLDEN_STATION, six), GROUP_QP, key(7), None, b"strangers");
        // The group's address and a queue pair's number do not go together.
        street.golden.send(group_path(GOLDEN_STATION, six), Qpn::new(other.number()), key(0), None, b"mixed");
        street.pair.run(4000);
        assert_eq!(near.count(&counters::RX_UNWANTED) - before, 2, "{profile:?}");
        assert_eq!(near.poll(), None, "{profile:?}");
        drop(members);
    }
}

#[test]
fn a_card_sends_to_a_group_and_all_members_hear_it() {
    for profile in widths!() {
        let street = Street::new(profile);
        let [near, far] = &street.pair.ends;
        for (slot, group) in groups().into_iter().enumerate() {
            let member = far.device.port().join(&street.pairs[1], group.0).expect("a free entry");
            let way = near.device.port().group_way(group.0).expect("it is a group");
            assert_eq!(Mac(way.mac), group.1);
            let handle = near.domain.address_handle(&way).expect("a handle");
            let payload = pattern(slot as u64, 2000);
            near.put(0, &payload);
            post_receive(far, &street.pairs[1], slot, 3000);
            street.golden.post_receive(slot, 3000);
            // Far's queue pair has the same key as near's, the golden end another.
            for q_key in [key(0), key(GOLDEN_STATION)] {
                let batch = street.pairs[0].start().wr_id(9).signaled().to(&handle, GROUP_QP, q_key);
                batch.send(&[near.piece(0, 2000)]).post().expect("room");
                near.expect(9);
            }
            let (source_port, traffic_class, hop_limit) = (way.source_port, way.traffic_class, way.hop_limit);
            let expected = Path { source_port, traffic_class, hop_limit, ..group_path(0, group) };
            let expected = header(&expected, None, &payload);
            let sender = Qpn::new(street.pairs[0].number());
            check(far, slot, sender, None, &expected, &payload);
            street.golden.check(slot, sender, None, &expected, &payload);
            drop(member);
        }
    }
}
