//! What a driver tells of its card: rows with the names that users of `rdma resource` know, for programs and for people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::columns::row;

row! {
    /// A queue pair: what it is doing.
    QueuePairState {
        /// Its number.
        number: u32 = "lqpn",
        /// Its peer's.
        peer: u32 = "rqpn",
        /// RC, UC, UD, LOCAL, RAW; a number if the card has gone mad.
        kind: String = "type",
        /// RESET, INIT, RTR, RTS, SQD, SQE, ERR; a number if the card has gone mad.
        state: String = "state",
        /// PSN of the next new request.
        send_psn: u32 = "sq-psn",
        /// PSN of the next request of the peer.
        receive_psn: u32 = "rq-psn",
        /// Messages of the peer that were carried out.
        msn: u32 = "msn",
        /// Requests that are not over.
        unacked: u8 = "unacked",
        /// READs and atomics among them.
        reads: u8 = "reads",
        /// Receives that wait.
        posted: u16 = "posted",
        /// What is unusual, with commas between.
        flags: String = "flags",
    }
}

row! {
    /// A queue pair: what it was set to.
    QueuePairSetup {
        /// Protection domain.
        domain: u16 = "pdn",
        /// Completion queue of requests.
        send_queue: u32 = "scqn",
        /// Completion queue of receives.
        receive_queue: u32 = "rcqn",
        /// Shared receive queue, or a dash.
        shared_queue: String = "srqn",
        /// Bytes of a packet's payload, at most; 0 as long as nobody said.
        path_mtu: u32 = "path-mtu",
        /// Code of the time it waits for an answer.
        timeout: u8 = "timeout",
        /// How often it asks again.
        retry: u8 = "retry-cnt",
        /// How often after RNR NAKs.
        rnr_retry: u8 = "rnr-retry",
        /// The peer's address.
        address: String = "peer",
    }
}

/// A queue pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePair {
    /// What it is doing.
    #[serde(flatten)]
    pub state: QueuePairState,
    /// What it was set to.
    #[serde(flatten)]
    pub setup: QueuePairSetup,
    /// Its counters, by the names that users of `rdma statistic` know.
    pub counters: BTreeMap<String, u32>,
}

row! {
    /// A completion queue.
    CompletionQueue {
        /// Its number.
        number: u32 = "cqn",
        /// Entries.
        entries: u64 = "cqe",
        /// Those that were not taken yet, as far as the card was told.
        waiting: u32 = "waiting",
        /// What it sends an event for: no, next, solicited.
        armed: String = "armed",
        /// Was an entry lost?
        overflowed: String = "overflowed",
        /// Entries after which it sends its event.
        count: u16 = "count",
        /// Microseconds after which it does so anyway.
        period: u16 = "period-us",
    }
}

row! {
    /// A shared receive queue.
    SharedQueue {
        /// Its number.
        number: u32 = "srqn",
        /// Entries.
        entries: u64 = "entries",
        /// Protection domain.
        domain: u16 = "pdn",
        /// One event tells that fewer are left.
        limit: u16 = "limit",
    }
}

row! {
    /// A memory region, or a window.
    Region {
        /// Its number.
        number: u32 = "mrn",
        /// Its key.
        key: String = "rkey",
        /// Address of the first byte, as requests name it.
        base: String = "iova",
        /// Bytes.
        length: u64 = "mrlen",
        /// Protection domain.
        domain: u16 = "pdn",
        /// Rights, with commas between.
        access: String = "access",
    }
}

row! {
    /// How the card comes from addresses of a region to those of the bus.
    Translation {
        /// `direct`: its pages follow each other, and the TLB has nothing to do. `list`: over a list of pages, which the TLB caches. `window`: as
        /// the region below it.
        way: String = "way",
        /// Bytes of a page.
        page: u64 = "page",
        /// How many there are.
        pages: u64 = "pages",
        /// Bus address of the list, or a dash.
        list: String = "list",
    }
}

/// A region with its translation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRegion {
    /// The region.
    #[serde(flatten)]
    pub region: Region,
    /// Its translation.
    #[serde(flatten)]
    pub translation: Translation,
    /// Bus addresses of its first pages, as far as the driver knows them.
    #[serde(rename = "pages-at")]
    pub pages_at: Vec<String>,
}

row! {
    /// What the TLB has done since the card was reset.
    Tlb {
        /// Translations found.
        hits: u64 = "hits",
        /// Not found.
        misses: u64 = "misses",
        /// Reads of page lists.
        walks: u64 = "walks",
    }
}

/// The port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// ACTIVE or DOWN.
    pub link: String,
    /// MAC address.
    pub mac: String,
    /// The first of its addresses.
    pub address: String,
    /// What it has counted, by the names of the registers.
    pub counters: BTreeMap<String, u64>,
}

/// All that was asked for.
///
/// As text, tables whose columns have the names that users of `rdma resource` and `rdma statistic` know. Columns of counters that are
/// zero for all are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The TLB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tlb: Option<Tlb>,
    /// Queue pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qp: Option<Vec<QueuePair>>,
    /// Completion queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cq: Option<Vec<CompletionQueue>>,
    /// Shared receive queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub srq: Option<Vec<SharedQueue>>,
    /// Memory regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mr: Option<Vec<MemoryRegion>>,
}
