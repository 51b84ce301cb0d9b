use std::net::Ipv4Addr;

use stroma_abi::Qpn;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::{Sge, Status};
use stroma_abi::wire::Mac;

use super::*;
use crate::model::{Addresses, Completion, Dropped, Operation, Path, Region, Settings, Work};

const TIMEOUT: u64 = 1000;
/// Where both ends have their 64 KiB, and under which key.
const BASE: u64 = 0x1000;
const KEY: u32 = 7;

fn number(end: u8, pair: u32) -> Qpn {
    Qpn::new(0x100 * (u32::from(end) + 1) + pair)
}

/// One of two ends with two queue pairs, and memory full of its number.
fn golden(end: u8) -> Golden {
    let (mac, ip) = (|end| Mac([2, 0, 0, 0, 0, end]), |end| Ipv4Addr::new(10, 0, 0, end + 1));
    let path = Path {
        local: mac(end),
        remote: mac(1 - end),
        tag: None,
        addresses: Addresses::V4 { local: ip(end), remote: ip(1 - end) },
        source_port: 0xc001,
        traffic_class: 0,
        hop_limit: 64,
    };
    let mut golden = Golden::default();
    for pair in 0..2 {
        let settings = Settings::new(number(end, pair), number(1 - end, pair), path, 1024);
        golden.connect(Settings { timeout: Some(TIMEOUT), ..settings });
    }
    let rights = rights::LOCAL_WRITE | rights::REMOTE_WRITE | rights::REMOTE_READ;
    golden.memory().register(KEY, Region { base: BASE, bytes: vec![end; 0x1_0000], domain: 0, rights });
    golden
}

fn write(id: u64, length: u32) -> Work {
    let from = Sge { address: BASE, local_key: KEY, length };
    Work::new(id, Operation::Write, &[from], KEY, BASE + 0x8000)
}

#[test]
fn a_raw_peer_sends_in_order_and_keeps_what_it_gets() {
    let mut raw = Raw::default();
    assert_eq!(raw.next_due(5), None);
    raw.send(vec![1; 60]);
    raw.send(vec![2; 70]);
    assert_eq!(raw.next_due(5), Some(5));
    assert_eq!(
        [raw.transmit(5), raw.transmit(6), raw.transmit(7)],
        [Some(vec![1; 60]), Some(vec![2; 70]), None]
    );
    assert_eq!(raw.next_due(7), None);
    raw.receive(9, &[3; 20], true);
    let expected = [Arrived { cycle: 9, bytes: vec![3; 20], bad: true }];
    assert_eq!(raw.arrived(), expected);
    assert_eq!(raw.take(), expected);
    assert_eq!(raw.take(), []);
}

#[test]
fn golden_peers_carry_out_what_is_posted_on_each_queue_pair() {
    let mut ends = [golden(0), golden(1)];
    assert_eq!(ends[0].next_due(10), None, "nothing to do");
    ends[0].post(number(0, 0), write(1, 3000));
    ends[0].post(number(0, 1), write(2, 10));
    let mut now = 10;
    while ends.iter().any(|end| end.next_due(now) == Some(now)) {
        for end in 0..2 {
            if let Some(frame) = ends[end].transmit(now) {
                ends[1 - end].receive(now, &frame, false);
            }
        }
        now += 1;
    }
    for (pair, id, bytes) in [(0, 1, 3000), (1, 2, 10)] {
        let done = Completion { id, status: Status::Success, bytes, rpc: None };
        assert_eq!([ends[0].poll(number(0, pair)), ends[0].poll(number(0, pair))], [Some(done), None]);
    }
    let written = &ends[1].memory().region(KEY).expect("registered").bytes[0x8000..0x9000];
    assert!(written[..3000] == [0; 3000] && written[3000..] == [1; 1096]);
    assert!(ends.iter().all(|end| end.next_due(now).is_none() && end.endpoint().is_idle()), "no timer runs");
    assert_eq!(ends.map(|end| end.dropped().to_vec()), [[], []] as [[Dropped; 0]; 2]);
}

#[test]
fn a_golden_peer_drops_bad_frames_and_sends_again_when_its_time_is_over() {
    let [mut near, mut far] = [golden(0), golden(1)];
    near.post(number(0, 0), write(1, 10));
    let frame = near.transmit(100).expect("a request");
    assert_eq!((near.transmit(100), near.next_due(101)), (None, Some(100 + TIMEOUT)));
    far.receive(200, &frame, true);
    assert_eq!((far.bad(), far.next_due(200), far.dropped().len()), (1, None, 0), "the MAC keeps it");
    near.tick(100 + TIMEOUT - 1);
    assert_eq!(near.transmit(100 + TIMEOUT - 1), None);
    near.tick(100 + TIMEOUT);
    assert_eq!(near.transmit(100 + TIMEOUT), Some(frame.clone()));
    far.receive(1200, &frame, false);
    assert_eq!(far.next_due(1200), Some(1200));
    let answer = far.transmit(1200).expect("an acknowledgement");
    near.receive(1300, &answer, false);
    assert_eq!(
        near.poll(number(0, 0)),
        Some(Completion { id: 1, status: Status::Success, bytes: 10, rpc: None })
    );
    assert_eq!((near.transmit(1300), near.next_due(1300)), (None, None));
    // A frame that means nothing is dropped, and the reason kept.
    near.receive(1400, &answer, false);
    assert_eq!(near.dropped(), [Dropped::Stale]);
}
