//! Objects as rows, with the names that users of `rdma resource` know.

use std::net::Ipv6Addr;

use stroma_abi::desc::{
    CompletionQueue, Region, SharedQueue, Statistics,
    region::{PAGE_LOGS, rights},
};
use stroma_control::inspect;

use super::View;
use crate::QueuePairView;

/// Pages whose addresses are told.
const PAGES_TOLD: u64 = 4;

impl From<&QueuePairView> for inspect::QueuePair {
    fn from(view: &QueuePairView) -> Self {
        let counters = Statistics::counters().iter().zip(view.live.counts());
        let state = inspect::QueuePairState {
            number: view.number,
            peer: view.peer.value(),
            kind: view.kind_name(),
            state: view.state_name(),
            send_psn: view.next_psn().value(),
            receive_psn: view.expected_psn().value(),
            msn: view.live.msn,
            unacked: view.live.outstanding,
            reads: view.live.reads,
            posted: view.live.posted,
            flags: view.flags(),
        };
        let setup = inspect::QueuePairSetup {
            domain: view.pd,
            send_queue: view.send_cq,
            receive_queue: view.receive_cq,
            shared_queue: if view.has_srq { view.srq.to_string() } else { dash() },
            path_mtu: if view.path_mtu == 0 { 0 } else { 128 << view.path_mtu },
            timeout: view.timeout,
            retry: view.retry,
            rnr_retry: view.rnr_retry,
            address: match Ipv6Addr::from(view.peer_ip.to_le_bytes()).to_canonical() {
                address if address.is_unspecified() => dash(),
                address => address.to_string(),
            },
        };
        let counters = counters.map(|(entry, count)| (entry.name.to_owned(), count)).collect();
        Self { state, setup, counters }
    }
}

impl From<&View<CompletionQueue>> for inspect::CompletionQueue {
    fn from(view: &View<CompletionQueue>) -> Self {
        let body = &view.body;
        let armed = ["no", "next", "solicited"].get(usize::from(body.armed)).unwrap_or(&"?");
        Self {
            number: view.number,
            entries: 1 << (body.log & 63),
            waiting: body.producer.wrapping_sub(body.consumer) & 0xff_ffff,
            armed: (*armed).to_owned(),
            overflowed: if body.overflowed { "yes" } else { "no" }.to_owned(),
            count: body.count,
            period: body.period,
        }
    }
}

impl From<&View<SharedQueue>> for inspect::SharedQueue {
    fn from(view: &View<SharedQueue>) -> Self {
        let SharedQueue { log, pd: domain, limit, .. } = view.body;
        Self { number: view.number, entries: 1 << (log & 63), domain, limit }
    }
}

/// A region. Where the first of its pages is the card knows if there is no list of them, and otherwise the driver.
pub(super) fn region(view: &View<Region>, first: Option<u64>) -> inspect::MemoryRegion {
    let body = &view.body;
    let region = inspect::Region {
        number: view.number,
        key: hex((view.number << u8::BITS | u32::from(body.key)).into()),
        base: hex(body.base),
        length: body.length,
        domain: body.pd,
        access: access(body.rights),
    };
    if body.window {
        let translation =
            inspect::Translation { way: "window".to_owned(), list: dash(), ..Default::default() };
        return inspect::MemoryRegion { region, translation, pages_at: Vec::new() };
    }
    let page: u64 = PAGE_LOGS.get(usize::from(body.page)).map_or(0, |log| 1 << log);
    let bytes = (body.base & page.saturating_sub(1)).saturating_add(body.length);
    let pages = if page == 0 { 0 } else { bytes.div_ceil(page).max(1) };
    let first = if body.direct { Some(body.list) } else { first };
    let at = |first: u64| (0..pages.min(PAGES_TOLD)).map(move |index| hex(first.wrapping_add(index * page)));
    let way = if body.direct { "direct" } else { "list" }.to_owned();
    let list = if body.direct { dash() } else { hex(body.list) };
    let translation = inspect::Translation { way, page, pages, list };
    inspect::MemoryRegion { region, translation, pages_at: first.into_iter().flat_map(at).collect() }
}

fn dash() -> String {
    "-".to_owned()
}

fn hex(value: u64) -> String {
    format!("{value:#x}")
}

/// Rights in short: local write, remote write, read, atomic, and of kernels.
fn access(bits: u8) -> String {
    let names = [
        (rights::LOCAL_WRITE, "lw"),
        (rights::REMOTE_WRITE, "rw"),
        (rights::REMOTE_READ, "rr"),
        (rights::REMOTE_ATOMIC, "ra"),
        (rights::RPC, "rpc"),
    ];
    let given: Vec<_> = names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    if given.is_empty() { dash() } else { given.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_lines_of_names_and_values() {
        let queue = CompletionQueue {
            log: 4,
            producer: 1,
            consumer: 0xff_ffff,
            armed: 1,
            count: 8,
            ..Default::default()
        };
        let shown = View { number: 9, body: queue };
        assert_eq!(shown.to_string(), "cqn 9 cqe 16 waiting 2 armed next overflowed no count 8 period-us 0");
        let shared = View { number: 1, body: SharedQueue { log: 6, pd: 3, limit: 5, ..Default::default() } };
        assert_eq!(shared.to_string(), "srqn 1 entries 64 pdn 3 limit 5");
        let rights = rights::LOCAL_WRITE | rights::REMOTE_READ;
        let body = Region { base: 0x7000, length: 4096, key: 2, pd: 3, rights, ..Default::default() };
        let region = View { number: 1, body };
        assert_eq!(region.to_string(), "mrn 1 rkey 0x102 iova 0x7000 mrlen 4096 pdn 3 access lw,rr");
    }

    #[test]
    fn pages_are_counted_from_the_one_of_the_first_byte_and_the_first_are_told() {
        let told = |body: Region, first| {
            let inspect::MemoryRegion { translation, pages_at, .. } =
                region(&View { number: 1, body }, first);
            (translation.way, translation.page, translation.pages, translation.list, pages_at.join(" "))
        };
        let direct =
            Region { base: 0x7ff0, length: 0x20, direct: true, list: 0x1_0000_0000, ..Default::default() };
        let pages = "0x100000000 0x100001000".to_owned();
        assert_eq!(told(direct, None), ("direct".into(), 4096, 2, "-".into(), pages));
        let list =
            Region { base: 0x20_0000, length: 10 << 21, page: 1, list: 0x1_0000_0040, ..Default::default() };
        let unknown = ("list".into(), 2 << 20, 10, "0x100000040".into(), String::new());
        assert_eq!(told(list, None), unknown);
        assert_eq!(told(list, Some(0x4000_0000)).4, "0x40000000 0x40200000 0x40400000 0x40600000");
        let empty = Region { base: 0x7000, direct: true, ..Default::default() };
        assert_eq!(told(empty, None).2, 1, "the card has one page for it");
        let window = Region { window: true, length: 8, ..Default::default() };
        assert_eq!(told(window, None), ("window".into(), 0, 0, "-".into(), String::new()));
        assert_eq!(told(Region { page: 3, length: 8, ..Default::default() }, None).2, 0, "no such page size");
    }
}
