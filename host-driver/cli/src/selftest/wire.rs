//! Frames that leave by the port and come back, over a loopback module.

use std::net::{IpAddr, Ipv4Addr};

use stroma_verbs::{Datagrams, GROUP_QP, Grh, QueuePairKind};

use super::Outcome;
use super::bench::{Bench, MEMORY};
use super::steps::Step;
use crate::pattern::pattern;

/// The step.
pub(crate) const WIRE: Step = ("wire", wire);

/// A group for this purpose alone (RFC 2365, of the organisation): what a card sends to its own address comes back without having left it.
const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 192, 83, 84));
const KEY: u32 = 0x1984_0001;
/// Where datagrams come.
const TARGET: usize = MEMORY / 2;
/// Bytes of datagrams: around those of beats, and the longest.
const LENGTHS: [usize; 8] = [1, 8, 63, 64, 65, 1023, 1024, 4096];
/// How often each, and how many that makes.
const TIMES: usize = 4;
const SENDS: usize = TIMES * LENGTHS.len();

/// Datagrams to a group, of which the card is a member: the wire alone brings them back.
fn wire(bench: &Bench) -> Outcome {
    let port = bench.device.port();
    if !port.is_up()? {
        return Err(
            "the link is down: is the loopback module in the first cage? `stroma board` tells more".into()
        );
    }
    let domain = bench.local.domain();
    let builder = domain.queue_pair(&bench.completions).kind(QueuePairKind::Datagram);
    // Requests that tell of nothing keep their places until one does: there is room for all.
    let queue_pair = builder.send_units(SENDS).receive_entries(8).receive_pieces(1).build()?;
    queue_pair.activate_datagrams(&Datagrams::new(KEY))?;
    let _member = port.join(&queue_pair, GROUP)?;
    let way = domain.address_handle(&port.group_way(GROUP)?)?;
    for (seed, len) in (41..).zip(LENGTHS.into_iter().cycle().take(SENDS)) {
        let bytes = pattern(seed, len);
        bench.memory.write(0, &bytes)?;
        let room = bench.memory.piece(TARGET, Grh::LEN + len)?;
        queue_pair.receives()?.receive(8, &[room]).post()?;
        // The receive alone completes where it is looked at: the request tells of nothing.
        let batch = queue_pair.start().wr_id(9).to(&way, GROUP_QP, KEY);
        batch.send(&[bench.memory.piece(0, len)?]).post()?;
        let found = bench.complete(8).map_err(|error| format!("{len} bytes that were sent: {error}"))?;
        if found.length as usize != Grh::LEN + len {
            return Err(format!("a datagram of {len} bytes arrives with {}", found.length).into());
        }
        bench.check(TARGET + Grh::LEN, &bytes)?;
    }
    Ok(format!("{SENDS} datagrams of up to 4096 bytes, out and in again"))
}
