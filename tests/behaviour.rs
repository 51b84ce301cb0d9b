//! The card's behaviour is RTL alone: outside `model/`, the simulator takes nothing from the workspace that could judge a
//! packet, a descriptor or an access. The golden endpoint of `model/` is on the wire as a peer, and nowhere else.
//!
//! What it may name is listed here, with a reason each. A test cannot read minds: logic written by hand, without a single
//! name from `stroma-abi` or `stroma-hw`, is left to reviewers.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};

/// Crates that `sim` may build on.
const CRATES: &[(&str, &str)] = &[
    ("anyhow", "errors of the replay program"),
    ("clap", "its command line"),
    ("libc", "opens a TAP interface at the end of a wire"),
    ("pcap-file", "captures"),
    ("stroma-abi", "names of counters, size of the register space: see below"),
    ("stroma-device", "the trait a simulated card implements, and the memory it is lent"),
    ("stroma-hw", "records at the pins of the front ends: see below"),
    ("stroma-kernel-models", "kernels of the golden endpoint"),
    ("stroma-local", "the socket of a wire's far end in another process, and the files of captures"),
    ("stroma-top", "the profiles there are"),
    ("stroma-verilate", "runs Verilog, and knows no card"),
    ("thiserror", "errors of the library"),
];

/// A name that files below a place may use, and all that lies below it.
struct Row {
    path: &'static str,
    place: &'static str,
    reason: &'static str,
}

const fn row(path: &'static str, place: &'static str, reason: &'static str) -> Row {
    Row { path, place, reason }
}

const ALLOWED: &[Row] = &[
    row("stroma_abi::regs::map::BAR2_AT", "backend.rs", "where BAR2 begins at the card's pins"),
    row("stroma_abi::regs::map::VECTORS", "backend.rs", "how many interrupts can be waited for"),
    row("stroma_abi::wire::class::Class", "mac.rs", "names the frame counters at the pins"),
    row("stroma_abi::wire::class::Class", "card", "the same"),
    row("stroma_abi::wire::class::Class", "fronts.rs", "the same"),
    row("stroma_top::kernels::Chosen", "models.rs", "which kernels a card is built with"),
    row("stroma_top::SOURCES", "models.rs", "the name under which a built card is found"),
    row("stroma_hw::verilog", "models.rs", "the emitted text, which is Verilated"),
    row("stroma_top::kernels::Chosen", "bin/cards.rs", "which kernels a card is built with"),
    row("stroma_hw::head::Head", "fronts.rs", "what the front ends hand over to a transport"),
    row("stroma_hw::pack::Packed", "fronts.rs", "how that record lies at the pins"),
    row("stroma_hw::stream", "fronts.rs", "how its payload does"),
    row("stroma_abi::Qpn", "peer/golden.rs", "which queue pair of the golden endpoint is meant"),
    row("stroma_abi", "peer/tests.rs", "what two golden endpoints say to each other"),
    row(
        "stroma_abi::wire::Ethernet",
        "link",
        "whom a frame is for, what it holds: pause frames and ECN marks",
    ),
    row("stroma_abi::wire::Tag", "link", "the priority that a pause is for"),
    row("stroma_abi::wire::Mac", "link", "where pause frames go"),
    row("stroma_abi::wire::ethernet::ethertype", "link", "which frames are pause frames, which carry IP"),
    row("stroma_abi::wire::Ipv4", "link", "the ECN mark that a full queue sets, as any switch does"),
    row("stroma_abi::wire::Ipv6", "link", "the same"),
    row("stroma_abi::wire::ipv4", "link", "the checksum that goes with the mark"),
    row("stroma_abi::Field", "link/pause.rs", "places in a pause frame"),
    row(
        "stroma_abi::wire::Frame",
        "link/script",
        "which packet a rule of a fault script means, and nothing else",
    ),
    row("stroma_abi::wire::Opcode", "link/script", "the same: by its op-code"),
    row("stroma_abi::wire::opcode", "link/script", "the same: by the op-code's name"),
    row("stroma_abi::wire::Position", "link/script", "the same: by its place in a message"),
    row("stroma_abi::wire::Role", "link/script", "the same: request or response"),
    row("stroma_abi::wire::Transport", "link/script", "the same: kernels apart from WRITEs"),
    row("stroma_abi::wire::Syndrome", "link/script", "the same: ACK, NAK or RNR"),
    row("stroma_abi::Psn", "link/script", "the same: by its number"),
    row("stroma_abi::Qpn", "link/script", "the same: by where it goes"),
    row("stroma_abi::wire", "link/script/tests.rs", "packets for such rules"),
    row("stroma_abi::wire::Ethernet", "switch", "addresses, to learn from and to forward by"),
    row("stroma_abi::wire::Mac", "switch", "the same"),
    row("stroma_abi::wire::Class", "bin/replay.rs", "a program that prints frames and the card's verdicts"),
    row("stroma_abi::wire::Frame", "bin/replay.rs", "the same"),
    row("stroma_abi::wire::classify", "bin/replay.rs", "the same, to hold one against the other"),
    row("stroma_abi::wire::print", "bin/replay.rs", "the same"),
    row("stroma_hw::head::Head", "bin/replay.rs", "the same, to have the frame built again"),
    row(
        "stroma_hw::rx::model::receive",
        "bin/replay.rs",
        "the same, to hold what is received against the model",
    ),
    row("stroma_device::Backend", "backend.rs", "the trait a card is reached through"),
    row("stroma_device::BarId", "backend.rs", "part of it"),
    row("stroma_device::Error", "backend.rs", "part of it"),
    row("stroma_device::Identity", "backend.rs", "part of it"),
    row("stroma_device::Iova", "backend.rs", "part of it"),
    row("stroma_device::Result", "backend.rs", "part of it"),
    row("stroma_device::Wake", "backend.rs", "part of it"),
    row("stroma_device::check", "backend.rs", "refuses accesses outside a BAR, as every backend does"),
    row("stroma_local::create", "pcap/write.rs", "a capture is written to no other file than its own"),
    row("stroma_local::datagram", "peer/datagram.rs", "the socket where frames leave the process"),
    row("stroma_local::remove_socket", "peer/datagram.rs", "one that another process has left there"),
    row("stroma_device::DmaMemory", "", "the host's memory"),
    row("stroma_top::Profile", "", "which card is simulated"),
    row("stroma_verilate", "", "runs Verilog, and knows no card"),
    row("stroma_sim", "bin", "the library under its own program"),
];

/// Files that may name the golden endpoint: those that make a peer of it.
const GOLDEN: [&str; 2] = ["peer/golden.rs", "peer/tests.rs"];
/// What others may name of the peers: what knows no protocol.
const PLAIN_PEERS: [&str; 7] = ["Peer", "Raw", "Arrived", "Datagram", "Door", "Outside", "Tap"];

/// Collects every path that begins with a crate of the workspace or `RustHDL`; apart, those into the model or to the peer
/// made of it. Offences are ways around this test.
#[derive(Default)]
struct Names {
    found: Vec<String>,
    golden: Vec<String>,
    offences: Vec<String>,
}

impl Names {
    fn note(&mut self, segments: &[String]) {
        let is_ours = |first: &String| first.starts_with("stroma_") || first == "rust_hdl";
        let near = |part: &&String| ["crate", "self", "super", "stroma_sim"].contains(&part.as_str());
        let from_here = &segments[segments.iter().take_while(near).count()..];
        let is_golden = match from_here {
            [first, ..] if first == "model" => true,
            [first, rest @ ..] if first == "peer" => {
                !rest.first().is_some_and(|name| PLAIN_PEERS.contains(&name.as_str()))
            }
            _ => false,
        };
        if segments.len() > 1 && is_golden {
            self.golden.push(segments.join("::"));
        } else if segments.first().is_some_and(is_ours) {
            self.found.push(segments.join("::"));
        }
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            // `module::{self}` is the module.
            if name != "self" || before.is_empty() {
                path.push(name.unraw().to_string());
            }
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(before, tree)),
        }
    }

    /// Macros may hold paths that no parser sees.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.note(&std::mem::take(&mut path));
                    }
                    path.push(ident.unraw().to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.note(&std::mem::take(&mut path));
                    self.tokens(group.stream());
                }
                _ => self.note(&std::mem::take(&mut path)),
            }
        }
        self.note(&path);
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.note(&[item.ident.unraw().to_string()]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|part| part.ident.unraw().to_string()).collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if item.path.segments.last().is_some_and(|last| last.ident == "include") {
            self.offences.push("include!".into());
        }
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("path") {
            self.offences.push("#[path]".into());
        }
        visit::visit_attribute(self, attribute);
    }
}

/// Does `path` name `row`, or something below it?
fn is_below(path: &str, row: &str) -> bool {
    path.strip_prefix(row).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What a file of `sim/src` names and may not, and which rows it needs.
fn judge(file: &Path, text: &str) -> (Vec<String>, Vec<usize>) {
    let mut names = Names::default();
    names.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    let (mut offences, mut needed) = (names.offences, Vec::new());
    if !GOLDEN.iter().any(|place| file == Path::new(place)) {
        offences.extend(names.golden);
    }
    for path in names.found {
        let mut rows = ALLOWED.iter().enumerate();
        match rows.find(|(_, row)| file.starts_with(row.place) && is_below(&path, row.path)) {
            Some((at, _)) => needed.push(at),
            // `card.rs` and what lies in `card/` are one place.
            None => match ALLOWED.iter().position(|row| {
                file == Path::new(row.place).with_extension("rs") && is_below(&path, row.path)
            }) {
                Some(at) => needed.push(at),
                None => offences.push(path),
            },
        }
    }
    (offences, needed)
}

fn sim() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim")
}

/// Every Rust file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_simulator_names_nothing_that_could_behave_like_a_card() {
    let root = sim().join("src");
    let (mut files, mut needed) = (Vec::new(), Vec::new());
    sources(&root, &mut files);
    assert!(files.len() > 10, "the sources are found");
    for file in files {
        let place = file.strip_prefix(&root).expect("it lies below");
        if place.starts_with("model") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let (offences, rows) = judge(place, &text);
        assert!(offences.is_empty(), "sim/src/{} names {offences:?}", place.display());
        needed.extend(rows);
    }
    for (at, row) in ALLOWED.iter().enumerate() {
        assert!(needed.contains(&at), "nobody needs {} in {:?} ({})", row.path, row.place, row.reason);
    }
}

/// Crates that a manifest names and the simulator may not build on.
fn strangers(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest");
    let mut found = vec![];
    if manifest.contains_key("target") {
        found.push("dependencies of one target".to_owned());
    }
    let named = manifest["dependencies"].as_table().expect("a table").keys();
    found.extend(named.filter(|name| !CRATES.iter().any(|(allowed, _)| allowed == name)).cloned());
    found
}

#[test]
fn the_simulator_builds_on_listed_crates_alone() {
    let manifest = std::fs::read_to_string(sim().join("Cargo.toml")).expect("the manifest of sim");
    assert_eq!(strangers(&manifest), [""; 0]);
    for (name, reason) in CRATES {
        assert!(manifest.contains(&format!("\n{name}.workspace")), "sim does not use {name} ({reason})");
    }
}

#[test]
fn protocol_and_protection_that_creep_in_are_found() {
    let offends = |place: &str, text: &str| judge(Path::new(place), text).0;
    for (place, text, offence) in [
        ("world.rs", "use stroma_abi::wire::classify;", "stroma_abi::wire::classify"),
        ("world.rs", "use stroma_abi::{desc::{self, Cqe}};", "stroma_abi::desc"),
        ("world.rs", "use stroma_abi::desc::*;", "stroma_abi::desc"),
        ("world.rs", "use stroma_hw as hardware;", "stroma_hw"),
        ("world.rs", "extern crate stroma_hw as hardware;", "stroma_hw"),
        ("host/iommu.rs", "use stroma_hw::state::access::Cause;", "stroma_hw::state::access::Cause"),
        ("host/port.rs", "fn f() { stroma_hw::head::model::of(&[]); }", "stroma_hw::head::model::of"),
        ("host/port.rs", "fn f() { assert!(r#stroma_abi::wire::icrc(&[]) == 0); }", "stroma_abi::wire::icrc"),
        ("fronts.rs", "use stroma_hw::head::model::Model;", "stroma_hw::head::model::Model"),
        ("fronts.rs", "use stroma_hw::head::Header;", "stroma_hw::head::Header"),
        ("card/network.rs", "use stroma_hw::head::Head;", "stroma_hw::head::Head"),
        ("card.rs", "use crate::model::Responder;", "crate::model::Responder"),
        ("peer/raw.rs", "use crate::model::Responder;", "crate::model::Responder"),
        ("card.rs", "use crate::peer::{Raw, Golden};", "crate::peer::Golden"),
        ("world.rs", "use crate::peer;", "crate::peer"),
        (
            "world.rs",
            "fn f() { crate::peer::golden::Golden::default(); }",
            "crate::peer::golden::Golden::default",
        ),
        ("bin/replay.rs", "use stroma_sim::model::Responder;", "stroma_sim::model::Responder"),
        ("lib.rs", "include!(\"../elsewhere.rs\");", "include!"),
        ("lib.rs", "#[path = \"../elsewhere.rs\"] mod elsewhere;", "#[path]"),
    ] {
        assert_eq!(offends(place, text).first().map(String::as_str), Some(offence), "{place}: {text}");
    }
    let fine = "use stroma_abi::wire::class::Class; use std::io; mod model; fn f() -> Class { Class::Icrc }";
    assert_eq!(offends("card.rs", fine), [""; 0]);
    assert_eq!(offends("card/network.rs", fine), [""; 0]);
    assert_eq!(offends("peer/golden.rs", "use super::Peer; use crate::model::Endpoint;"), [""; 0]);
    assert_eq!(offends("world/station.rs", "use crate::peer::Peer;"), [""; 0]);
    assert_eq!(offends("world.rs", fine), ["stroma_abi::wire::class::Class"]);
    assert_eq!(
        strangers("[dependencies]\nanyhow = \"1\"\nhardware = { package = \"stroma-hw\" }"),
        ["hardware"]
    );
}
