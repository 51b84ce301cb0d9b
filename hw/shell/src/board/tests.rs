use stroma_abi::regs::map::BOARD;
use stroma_hw::testing::{collect, push, stalls, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::*;

/// Cycles between two measurements, as a power of two.
const LOG: u32 = 5;

/// What the registers hold, in plain Rust.
#[derive(Default)]
struct Twin {
    values: [u32; ROWS.len()],
}

impl Twin {
    fn row(reg: &Register) -> usize {
        ROWS.iter().position(|row| row.name == reg.name).expect("a register of the board")
    }

    fn load(&self, addr: usize) -> u64 {
        let word = |at: usize| ROWS.iter().position(|row| row.offset == at).map_or(0, |row| self.values[row]);
        u64::from(word(addr & !7)) | u64::from(word((addr & !7) + 4)) << 32
    }

    /// A store, by the bytes that it has.
    fn store(&mut self, addr: usize, data: u64, strobe: u8) {
        for (half, at) in [(0, addr & !7), (1, (addr & !7) + 4)] {
            let value = u32::try_from(data >> (32 * half) & 0xffff_ffff).expect("32 bits");
            if strobe >> (4 * half) & 0xf != 0xf {
                continue;
            }
            if at == board::HOT.offset {
                self.values[Self::row(&board::HOT)] = value & 0xffff;
            } else if at == board::CAGE.offset {
                let cage = &mut self.values[Self::row(&board::CAGE)];
                *cage = *cage & !3 | value & 3;
            }
        }
    }
}

struct Rig {
    bench: Bench,
    request: SourceId,
    answer: SinkId,
    twin: Twin,
}

impl Rig {
    fn new() -> Self {
        let mut bench = verilated("board", || Board::measuring_every(LOG));
        let request = bench.source("request").expect("a stream");
        let answer = bench.sink("answer").expect("a stream");
        let mut rig = Self { bench, request, answer, twin: Twin::default() };
        for name in ["sysmon_drdy", "sysmon_do", "cage_absent", "cage_interrupts"] {
            rig.set(name, 0);
        }
        let inputs = ROWS
            .iter()
            .filter(|row| ![board::TEMPERATURE.name, board::HOT.name, board::CAGE.name].contains(&row.name));
        for (row, value) in inputs.zip(0x1234_5601_u32..) {
            let port = if row.name == board::NAME.name { "board_name" } else { row.name };
            rig.set(port, value.into());
            rig.twin.values[Twin::row(row)] = value;
        }
        rig.bench.reset(2);
        rig
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).unwrap_or_else(|error| panic!("{error}"));
        self.bench.model_mut().set(port, value);
    }

    fn get(&self, name: &str) -> u64 {
        let port = self.bench.model().port(name).unwrap_or_else(|error| panic!("{error}"));
        self.bench.model().get(port)
    }

    /// Carries out accesses; what was read by the loads among them.
    fn access(&mut self, requests: &[RegRequest]) -> Vec<u64> {
        push(&mut self.bench, self.request, requests);
        let (answer, count) = (self.answer, requests.len());
        self.bench
            .run_until(|bench| bench[answer].received().len() == count, 100_000)
            .expect("all are answered");
        let answers = collect::<RegAnswer>(&mut self.bench, self.answer).into_iter().zip(requests);
        answers.filter(|(_, request)| !request.is_write).map(|(answer, _)| answer.data.into()).collect()
    }

    fn load(&mut self, reg: &Register) -> u32 {
        let found = self.access(&[load(reg.offset)])[0];
        u32::try_from(found >> (reg.offset % 8 * 8) & 0xffff_ffff).expect("32 bits")
    }

    fn store(&mut self, reg: &Register, value: u32) {
        let half = reg.offset % 8 / 4;
        self.access(&[store(reg.offset, u64::from(value) << (32 * half), 0xf << (4 * half))]);
    }

    /// The sensor answers the next time it is asked.
    fn measure(&mut self, code: u64) {
        self.bench
            .run_until(|bench| bench.model().get(bench.model().port("sysmon_den").unwrap()) == 1, 2 << LOG)
            .expect("it is asked");
        assert_eq!(self.get("sysmon_daddr"), 0);
        self.bench.run(3);
        self.set("sysmon_do", code);
        self.set("sysmon_drdy", 1);
        self.bench.run(1);
        self.set("sysmon_drdy", 0);
        self.set("sysmon_do", 0xdead);
        self.bench.run(2);
    }
}

fn load(addr: usize) -> RegRequest {
    RegRequest { addr: (addr as u64).into(), data: 0.into(), strb: 0.into(), is_write: false }
}

fn store(addr: usize, data: u64, strobe: u8) -> RegRequest {
    RegRequest {
        addr: (addr as u64).into(),
        data: data.into(),
        strb: u64::from(strobe).into(),
        is_write: true,
    }
}

#[test]
fn every_register_of_the_map_has_its_row() {
    assert!(ROWS.iter().map(|row| row.name).eq(board::BLOCK.regs.iter().map(|reg| reg.name)));
}

#[test]
fn it_agrees_with_its_twin_under_stalls() {
    let mut rig = Rig::new();
    let mut rng = SplitMix64::new(7);
    for (idle, pressure) in stalls() {
        rig.bench[rig.request].pause(idle);
        rig.bench[rig.answer].pause(pressure);
        let mut wanted = Vec::new();
        let requests: Vec<RegRequest> = (0..60)
            .map(|_| {
                // Half of them where registers are, which can be stored to.
                let everywhere = usize::try_from(rng.below(BOARD.len as u64)).expect("small");
                let addr = if rng.below(2) == 0 { everywhere } else { everywhere % 0x50 };
                if rng.below(2) == 0 {
                    wanted.push(rig.twin.load(addr));
                    return load(addr);
                }
                let strobe =
                    [0xff, 0x0f, 0xf0, 0x7f, 0xfe, 0x00][usize::try_from(rng.below(6)).expect("small")];
                let data = rng.next_u64();
                rig.twin.store(addr, data, strobe);
                store(addr, data, strobe)
            })
            .collect();
        assert_eq!(rig.access(&requests), wanted);
        let cage = rig.twin.values[Twin::row(&board::CAGE)];
        assert_eq!(
            (rig.get("cage_reset"), rig.get("cage_low_power")),
            (u64::from(cage & 1), u64::from(cage >> 1 & 1))
        );
    }
}

#[test]
fn the_cage_is_read_as_it_is() {
    let mut rig = Rig::new();
    rig.set("cage_absent", 1);
    assert_eq!(rig.load(&board::CAGE), 1 << 30);
    rig.set("cage_absent", 0);
    rig.set("cage_interrupts", 1);
    rig.store(&board::CAGE, u32::MAX);
    assert_eq!(rig.load(&board::CAGE), 1 << 31 | 3);
}

#[test]
fn the_temperature_is_the_last_that_was_measured() {
    let mut rig = Rig::new();
    assert_eq!(rig.load(&board::TEMPERATURE), 0);
    for code in [0x9c40, 0x9c80] {
        rig.measure(code);
        assert_eq!(u64::from(rig.load(&board::TEMPERATURE)), 1 << 31 | code);
    }
    rig.bench.reset(1);
    assert_eq!(rig.load(&board::TEMPERATURE) >> 31, 0, "measured anew");
}

#[test]
fn a_sensor_that_does_not_answer_is_asked_again() {
    let mut rig = Rig::new();
    let mut asked = 0;
    for _ in 0..10 << LOG {
        rig.bench.run(1);
        asked += rig.get("sysmon_den");
    }
    assert_eq!(asked, 10);
}

#[test]
fn sixteen_in_a_row_cut_the_power_and_a_new_limit_gives_it_back() {
    let mut rig = Rig::new();
    (0..20).for_each(|_| rig.measure(0xffff));
    assert_eq!(rig.get("too_hot"), 0, "without a limit nothing is too hot");
    rig.store(&board::HOT, 0xb000);
    (0..15).for_each(|_| rig.measure(0xb000));
    rig.measure(0xafff);
    (0..15).for_each(|_| rig.measure(0xb001));
    assert_eq!((rig.get("too_hot"), rig.load(&board::HOT)), (0, 0xb000), "one in between was not");
    rig.measure(0xb000);
    assert_eq!((rig.get("too_hot"), rig.load(&board::HOT)), (1, 1 << 31 | 0xb000));
    rig.measure(0x1000);
    assert_eq!(rig.get("too_hot"), 1, "it stays so");
    rig.store(&board::HOT, 0xb000);
    assert_eq!((rig.get("too_hot"), rig.load(&board::HOT)), (0, 0xb000));
}

#[test]
fn reset_puts_all_back() {
    let mut rig = Rig::new();
    rig.store(&board::HOT, 0x8000);
    rig.store(&board::CAGE, 3);
    rig.bench[rig.answer].pause(Pause::Always);
    push(&mut rig.bench, rig.request, &[load(0), load(8)]);
    rig.bench.run(8);
    rig.bench[rig.answer].pause(Pause::None);
    rig.bench.reset(1);
    collect::<RegAnswer>(&mut rig.bench, rig.answer);
    assert_eq!((rig.load(&board::HOT), rig.load(&board::CAGE)), (0, 0));
}
