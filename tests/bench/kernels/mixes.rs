//! Mixes of GETs and PUTs on one key-value store, that of `examples/kv`, in three ways.

use stroma_kv::mix::Mix;
use stroma_kv::rig::{Plan, Rig};
use stroma_kv::{Layout, Way};

use super::baseline::CPU_NS;
use super::stage::PROFILE;
use crate::host::seconds;
use crate::rate::number;
use crate::report::{Metric, Report};

const LAYOUT: Layout = Layout { log_buckets: 6, log_buffers: 12, buffer_bytes: 128 };
const KEYS: u64 = 16;
const VALUE: usize = 64;
const CLIENTS: usize = 4;
/// Operations of each client.
const OPERATIONS: usize = 40;

/// Thousands of operations a second, read-heavy and write-heavy. Every history is held against a plain map.
pub(crate) fn measure(report: &mut Report) {
    let plan = Plan { cpu_ns: CPU_NS, ..Plan::new(PROFILE, LAYOUT) };
    let rig = Rig::new(plan).unwrap_or_else(|error| panic!("{error}"));
    let keys = Mix::keys(KEYS);
    for key in &keys {
        rig.store.borrow_mut().put(key, &[0; VALUE]).unwrap_or_else(|error| panic!("{error}"));
    }
    for mix in
        [Mix::read_heavy(OPERATIONS, keys.clone(), VALUE, 1), Mix::write_heavy(OPERATIONS, keys, VALUE, 2)]
    {
        for way in Way::ALL {
            let name = format!("kv.{}.{}", mix.name, way.name());
            report.progress.doing(&name);
            let played = rig.play(way, CLIENTS, &mix).unwrap_or_else(|error| panic!("{name}: {error}"));
            played.check().unwrap_or_else(|violation| panic!("{name}: {violation}"));
            let rate = number(played.operations as u64) / seconds(played.cycles) / 1e3;
            let how = format!(
                "{CLIENTS} clients in one thread, {OPERATIONS} operations each, one at a time; {} of 100 are PUTs; {KEYS} keys of 16 bytes, \
                 values of {VALUE}; first post to last completion; {}",
                mix.puts,
                price(way),
            );
            report.add(&name, Metric::Operations, rate, PROFILE, &how);
        }
    }
}

/// What a way costs besides its verbs.
fn price(way: Way) -> String {
    match way {
        Way::Kernels => "GET: `get`; PUT: two chains of `prism`; clients check CRCs in no time".to_owned(),
        Way::Reads => {
            "GET: two READs; PUT: two READs, a lock by atomic, WRITEs; clients check CRCs in no time"
                .to_owned()
        }
        Way::Messages => format!("SEND, {CPU_NS} ns of the server's one core, SEND back"),
    }
}
