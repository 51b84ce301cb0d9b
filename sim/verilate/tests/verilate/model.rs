//! Ports, clocks, waves and errors of a single model.

use crate::designs::{counter, design};
use std::panic::{AssertUnwindSafe, catch_unwind};
use stroma_verilate::{Error, Model, Options, SplitMix64, Verilog};

/// `sum = left + right` at many widths, each with ports of its own.
fn adders(widths: &[u32]) -> Verilog {
    let (mut ports, mut body, mut manifest) = (Vec::new(), Vec::new(), vec!["top adders".to_owned()]);
    for width in widths {
        let range = format!("[{}:0]", width - 1);
        ports.push(format!("input wire {range} left${width}, input wire {range} right${width}"));
        ports.push(format!("output wire {range} sum${width}"));
        body.push(format!("assign sum${width} = left${width} + right${width};"));
        manifest.extend(["in left", "in right", "out sum"].map(|port| format!("{port}${width} {width}")));
    }
    let text = format!("module adders ({});\n{}\nendmodule", ports.join(",\n"), body.join("\n"));
    design(&text, &manifest.join("\n"))
}

/// The addition Verilog should do, word by word.
fn add(left: &[u32], right: &[u32], width: u32) -> Vec<u32> {
    let mut carry = 0;
    let mut sum: Vec<u32> = Vec::new();
    for (a, b) in left.iter().zip(right) {
        let total = u64::from(*a) + u64::from(*b) + carry;
        sum.push(u32::try_from(total & 0xffff_ffff).unwrap());
        carry = total >> 32;
    }
    if !width.is_multiple_of(32) {
        *sum.last_mut().unwrap() &= (1 << (width % 32)) - 1;
    }
    sum
}

#[test]
fn ports_of_every_width_carry_every_bit() {
    let widths = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 511, 512];
    let mut model = Model::load(&adders(&widths)).unwrap();
    let mut rng = SplitMix64::new(3);
    for width in widths {
        let port = |name: &str| model.port(&format!("{name}${width}")).unwrap();
        let (left, right, sum) = (port("left"), port("right"), port("sum"));
        assert_eq!(model.width(sum), width);
        for _ in 0..50 {
            let (a, b) = (rng.bits(width), rng.bits(width));
            model.set_wide(left, &a);
            model.set_wide(right, &b);
            model.eval();
            assert_eq!(model.get_wide(sum), add(&a, &b, width), "{width} bits: {a:x?} + {b:x?}");
        }
        model.set(left, 1);
        model.set_wide(right, &vec![0; model.word_count(right)]);
        model.eval();
        assert_eq!(model.get_wide(sum)[0], 1, "a narrow write clears the rest of {width} bits");
        assert!(model.get_wide(sum)[1..].iter().all(|word| *word == 0));
    }
}

/// `left = word << distance` and `right = word >> distance` for any distance, and the same for distances that are fixed.
fn shifters(widths: &[u32], fixed: impl Fn(u32) -> Vec<u32>) -> Verilog {
    let (mut ports, mut body, mut manifest) = (Vec::new(), Vec::new(), vec!["top shifters".to_owned()]);
    for width in widths {
        let range = format!("[{}:0]", width - 1);
        ports.push(format!("input wire {range} word${width}, input wire [31:0] distance${width}"));
        manifest.extend([format!("in word${width} {width}"), format!("in distance${width} 32")]);
        let distances =
            fixed(*width).into_iter().map(|distance| (format!("${distance}"), distance.to_string()));
        for (name, distance) in distances.chain([(String::new(), format!("distance${width}"))]) {
            for (side, operator) in [("left", "<<"), ("right", ">>")] {
                ports.push(format!("output wire {range} {side}${width}{name}"));
                body.push(format!("assign {side}${width}{name} = word${width} {operator} {distance};"));
                manifest.push(format!("out {side}${width}{name} {width}"));
            }
        }
    }
    let text = format!("module shifters ({});\n{}\nendmodule", ports.join(",\n"), body.join("\n"));
    design(&text, &manifest.join("\n"))
}

/// A word of which bit `at` is that bit of another which `from` gives.
fn picked(word: &[u32], width: u32, from: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
    let is_set = |at: &u32| word[*at as usize / 32] >> (at % 32) & 1 == 1;
    let mut bits = vec![0; word.len()];
    for at in (0..width).filter(|at| from(*at).filter(|at| *at < width).is_some_and(|at| is_set(&at))) {
        bits[at as usize / 32] |= 1 << (at % 32);
    }
    bits
}

/// A word moved up and down by a distance.
fn shifted(word: &[u32], width: u32, by: u32) -> [Vec<u32>; 2] {
    [picked(word, width, |at| at.checked_sub(by)), picked(word, width, |at| at.checked_add(by))]
}

#[test]
fn words_of_every_width_are_shifted_by_every_distance() {
    let widths = [65, 96, 127, 512, 525];
    let fixed = |width: u32| vec![1, 8, 32, 40, width - 1];
    let mut model = Model::load(&shifters(&widths, fixed)).unwrap();
    let mut rng = SplitMix64::new(5);
    for width in widths {
        let port = |name: &str| model.port(name).unwrap();
        let (word, distance) = (port(&format!("word${width}")), port(&format!("distance${width}")));
        let outputs = |model: &Model, by: &str| {
            ["left", "right"].map(|side| model.get_wide(model.port(&format!("{side}${width}{by}")).unwrap()))
        };
        for by in (0..width + 34).chain([1 << 16, u32::MAX]) {
            let bits = rng.bits(width);
            model.set_wide(word, &bits);
            model.set(distance, by.into());
            model.eval();
            let expected = |by: u32| shifted(&bits, width, by);
            assert_eq!(outputs(&model, ""), expected(by), "{width} bits: {bits:x?} by {by}");
            for by in fixed(width) {
                assert_eq!(
                    outputs(&model, &format!("${by}")),
                    expected(by),
                    "{width} bits: {bits:x?} by {by}"
                );
            }
        }
    }
}

/// `same`: are two words equal? `other`: do they differ?
fn comparators(widths: &[u32]) -> Verilog {
    let (mut ports, mut body, mut manifest) = (Vec::new(), Vec::new(), vec!["top comparators".to_owned()]);
    for width in widths {
        let range = format!("[{}:0]", width - 1);
        ports.push(format!("input wire {range} a${width}, input wire {range} b${width}"));
        ports.push(format!("output wire same${width}, output wire other${width}"));
        body.push(format!("assign same${width} = a${width} == b${width};"));
        body.push(format!("assign other${width} = a${width} != b${width};"));
        manifest.extend([format!("in a${width} {width}"), format!("in b${width} {width}")]);
        manifest.extend([format!("out same${width} 1"), format!("out other${width} 1")]);
    }
    let text = format!("module comparators ({});\n{}\nendmodule", ports.join(",\n"), body.join("\n"));
    design(&text, &manifest.join("\n"))
}

#[test]
fn words_of_every_width_differ_by_any_of_their_bits() {
    let widths = [65, 96, 127, 128, 129, 160, 512, 525];
    let mut model = Model::load(&comparators(&widths)).unwrap();
    let mut rng = SplitMix64::new(6);
    for width in widths {
        let port = |name: &str| model.port(&format!("{name}${width}")).unwrap();
        let [a, b, same, other] = ["a", "b", "same", "other"].map(port);
        let bits = rng.bits(width);
        model.set_wide(a, &bits);
        for flipped in std::iter::once(None).chain((0..width).map(Some)) {
            let mut changed = bits.clone();
            if let Some(at) = flipped {
                changed[at as usize / 32] ^= 1 << (at % 32);
            }
            model.set_wide(b, &changed);
            model.eval();
            let expected = u64::from(flipped.is_none());
            let got = (model.get(same), model.get(other));
            assert_eq!(got, (expected, 1 - expected), "{width} bits, bit {flipped:?} of one flipped");
        }
    }
}

#[test]
fn clocks_tick_independently() {
    let mut model = Model::load(&counter()).unwrap();
    let port = |name| model.port(name).unwrap();
    let (clock, other, enable) = (port("clock"), port("other"), port("enable"));
    let (count, others) = (port("count"), port("others"));
    assert_eq!(model.clocks().collect::<Vec<_>>(), [clock, other]);
    model.set(enable, 1);
    (0..5).for_each(|_| model.tick(clock));
    (0..3).for_each(|_| model.tick(other));
    model.set(enable, 0);
    model.tick(clock);
    assert_eq!((model.get(count), model.get(others)), (5, 3));
    assert_eq!(model.time(), 2 * 9);

    model.set(enable, 1);
    model.set(clock, 1);
    model.eval();
    model.tick(clock);
    assert_eq!(model.get(count), 7, "a clock left high still rises at the next tick");
}

#[test]
fn two_instances_share_code_but_no_state() {
    let (mut a, mut b) = (Model::load(&counter()).unwrap(), Model::load(&counter()).unwrap());
    let [clock, enable, count] = ["clock", "enable", "count"].map(|name| a.port(name).unwrap());
    a.set(enable, 1);
    a.tick(clock);
    b.tick(clock);
    assert_eq!((a.get(count), b.get(count)), (1, 0));
    std::thread::spawn(move || {
        a.tick(clock);
        assert_eq!(a.get(count), 2);
    })
    .join()
    .unwrap();
    drop(b);
}

#[test]
fn unreset_state_follows_the_seed() {
    let start = |seed| {
        let model = Model::load_with(&counter(), &Options { seed, ..Options::default() }).unwrap();
        (model.get(model.port("count").unwrap()), model.get(model.port("others").unwrap()))
    };
    assert_eq!(start(0), (0, 0));
    assert_eq!(start(5), start(5));
    let distinct: std::collections::BTreeSet<_> = (1..9).map(start).collect();
    assert!(distinct.len() > 4, "{distinct:?}");
}

#[test]
fn odd_port_names_are_bound_correctly() {
    let text = "module odd (input wire [6:0] a__b, input wire [6:0] template, input wire [6:0] c$$d,
    input wire [6:0] _e___f, output wire [6:0] all);
    assign all = a__b + template + c$$d + _e___f; endmodule";
    let ports = "top odd\nin a__b 7\nin template 7\nin c$$d 7\nin _e___f 7\nout all 7";
    let mut model = Model::load(&design(text, ports)).unwrap();
    for (name, value) in [("a__b", 1), ("template", 2), ("c$$d", 4), ("_e___f", 8)] {
        model.set(model.port(name).unwrap(), value);
    }
    model.eval();
    assert_eq!(model.get(model.port("all").unwrap()), 15);
}

#[test]
fn an_unknown_port_lists_its_neighbours() {
    let model = Model::load(&counter()).unwrap();
    match model.port("cuont") {
        Err(Error::UnknownPort { port, near, .. }) => {
            assert_eq!(port, "cuont");
            assert_eq!(near[0], "count");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_that_do_not_fit_name_port_and_value() {
    let mut model = Model::load(&adders(&[7, 65])).unwrap();
    let port = |name| model.port(name).unwrap();
    let (narrow, wide, sum) = (port("left$7"), port("left$65"), port("sum$65"));
    let mut refusal = |act: &dyn Fn(&mut Model)| {
        let panic = catch_unwind(AssertUnwindSafe(|| act(&mut model))).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    let mut check = |words: [&str; 2], act: &dyn Fn(&mut Model)| {
        let message = refusal(act);
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    check(["left$7", "0x80"], &|model| model.set(narrow, 0x80));
    check(["left$65", "[0, 0, 2]"], &|model| model.set_wide(wide, &[0, 0, 2]));
    check(["left$65", "3 words"], &|model| model.set_wide(wide, &[0, 0]));
    check(["sum$65", "output"], &|model| model.set(sum, 0));
    check(["sum$65", "get_wide"], &|model| assert_eq!(model.get(sum), 0));
}

#[test]
fn verilators_words_reach_the_error() {
    let broken = design("module broken (input wire a;\nendmodule", "top broken\nin a 1");
    let Err(Error::Verilator { top, output }) = Model::load(&broken).map(drop) else {
        panic!("was accepted")
    };
    assert_eq!(top, "broken");
    assert!(output.contains("design.v:1:") && output.contains("syntax error"), "{output}");

    let text = "module narrow (input wire [7:0] a, output wire [3:0] b); assign b = a; endmodule";
    let narrow = design(text, "top narrow\nin a 8\nout b 4");
    let error = Model::load(&narrow).map(drop).unwrap_err().to_string();
    assert!(error.contains("WIDTHTRUNC"), "warnings are errors: {error}");
}

#[test]
fn a_manifest_that_disagrees_with_the_text_is_refused() {
    let mut wrong = counter();
    wrong.manifest.ports[4].width = 15;
    let error = Model::load(&wrong).map(drop).unwrap_err();
    assert!(matches!(error, Error::PortMismatch { .. }), "{error}");
    assert!(error.to_string().contains("`count` is 16 bits wide, not 15"), "{error}");
}

#[test]
fn a_model_that_stops_panics_and_the_process_lives() {
    let text = "module stops (input wire go); always @* if (go) $stop; endmodule";
    let mut model = Model::load(&design(text, "top stops\nin go 1")).unwrap();
    let go = model.port("go").unwrap();
    model.eval();
    model.set(go, 1);
    let panic = catch_unwind(AssertUnwindSafe(|| model.eval())).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("stopped") && message.contains("$stop"), "{message}");
}

#[test]
fn waves_name_the_ports_and_hold_the_edges() {
    let folder = std::env::temp_dir().join(format!("stroma-waves-{}", std::process::id()));
    let options =
        Options { label: Some("counter::waves".into()), waves: Some(folder.clone()), ..Options::default() };
    let mut model = Model::load_with(&counter(), &options).unwrap();
    let (clock, enable) = (model.port("clock").unwrap(), model.port("enable").unwrap());
    model.set(enable, 1);
    (0..3).for_each(|_| model.tick(clock));
    let path = model.waves().unwrap().to_owned();
    drop(model);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(path, folder.join("counter-waves-0.vcd"));
    assert!(text.contains(" count [15:0] $end"), "{text}");
    assert!(text.contains("#5\n"), "the last half cycle is there: {text}");
    assert!(text.contains("b0000000000000011 "), "the count reaches 3: {text}");
}
