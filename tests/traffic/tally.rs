//! How many operations of which kind a run had.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::{Kind, Service};

/// A count for every kind of operation of the services that took part, and for those that used a memory window once more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<(Service, &'static str), u64>);

/// Every kind a service has.
fn names(service: Service) -> &'static [&'static str] {
    match service {
        Service::Reliable => &[
            "SEND",
            "SEND_IMM",
            "SEND_INV",
            "WRITE",
            "WRITE by window",
            "WRITE_IMM",
            "WRITE_IMM by window",
            "READ",
            "READ by window",
            "CMP_SWAP",
            "FETCH_ADD",
            "BIND_MW",
            "LOCAL_INV",
        ],
        Service::Unreliable => &["SEND", "SEND_IMM", "WRITE", "WRITE_IMM"],
        Service::Datagram => &["SEND", "SEND_IMM"],
    }
}

impl Tally {
    /// Of a queue pair that has done nothing yet.
    pub(super) fn new(service: Service) -> Self {
        Self(names(service).iter().map(|name| ((service, *name), 0)).collect())
    }

    pub(super) fn count(&mut self, service: Service, kind: Kind, is_windowed: bool) {
        let name = match (kind, is_windowed) {
            (Kind::Send, _) => "SEND",
            (Kind::SendImm(_), _) => "SEND_IMM",
            (Kind::SendInv(_), _) => "SEND_INV",
            (Kind::Write, false) => "WRITE",
            (Kind::Write, true) => "WRITE by window",
            (Kind::WriteImm(_), false) => "WRITE_IMM",
            (Kind::WriteImm(_), true) => "WRITE_IMM by window",
            (Kind::Read, false) => "READ",
            (Kind::Read, true) => "READ by window",
            (Kind::CompareSwap { .. }, _) => "CMP_SWAP",
            (Kind::FetchAdd(_), _) => "FETCH_ADD",
            (Kind::Bind(_), _) => "BIND_MW",
            (Kind::Invalidate(_), _) => "LOCAL_INV",
        };
        *self.0.get_mut(&(service, name)).expect("a service has the kinds that are posted") += 1;
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (row, count) in &other.0 {
            *self.0.entry(*row).or_default() += count;
        }
    }

    /// Of services that may lose them: messages that take a receive, and WRITEs without immediate data.
    pub fn losable(&self) -> (u64, u64) {
        let sum = |of: fn(&str) -> bool| {
            let rows = self.0.iter().filter(|((service, name), _)| service.loses() && of(name));
            rows.map(|(_, count)| count).sum()
        };
        (sum(|name| name != "WRITE"), sum(|name| name == "WRITE"))
    }

    /// The kind of a service that there were fewest of, and how many.
    pub fn rarest(&self, service: Service) -> (&'static str, u64) {
        let rows = self.0.iter().filter(|((of, _), _)| *of == service);
        let rows = rows.map(|((_, name), count)| (*name, *count));
        rows.min_by_key(|(_, count)| *count).expect("it took part")
    }
}

impl Display for Tally {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let row = |service: Service, name: &'static str| {
            self.0.get(&(service, name)).map(|count| format!("{count} {} {name}", service.name()))
        };
        let of = |service: Service| names(service).iter().filter_map(move |name| row(service, name));
        to.write_str(&Service::ALL.into_iter().flat_map(of).collect::<Vec<_>>().join(", "))
    }
}
