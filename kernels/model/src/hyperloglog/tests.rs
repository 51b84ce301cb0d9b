use super::*;
use stroma_abi::desc::{Parameters, SlotCommand};

/// Remembers writes: key, address and length. Those at 0xbad000 are refused, at 0xdead000 fail.
#[derive(Default)]
struct Log(Vec<(u32, u64, Vec<u8>)>);

impl Memory for Log {
    fn read(&mut self, _: u32, _: u64, _: usize) -> Result<Vec<u8>, Failure> {
        unreachable!("hyperloglog reads nothing")
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.0.push((key, va, bytes.to_vec()));
        match va >> 12 {
            0xbad => Err(Failure::Refused),
            0xdead => Err(Failure::Host),
            _ => Ok(()),
        }
    }
}

const NAME: u64 = 0x005e_c2e7;

fn of(action: Action) -> HyperLogLog {
    HyperLogLog { sketch: NAME, action: action as u8, item: 4, address: 0x1000, ..HyperLogLog::default() }
}

fn invocation(task: &HyperLogLog, payload: &[u8]) -> Invocation {
    let command = SlotCommand { key: 7, response_max: 65_536, ..SlotCommand::default() };
    let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
    Invocation::new(command, parameters, payload.to_vec())
}

fn call(kernel: &mut Kernel, task: &HyperLogLog, payload: &[u8]) -> Outcome {
    kernel.run(&invocation(task, payload), &mut Log::default())
}

fn cleared() -> Kernel {
    let mut kernel = Kernel::default();
    assert_eq!(call(&mut kernel, &of(Action::Clear), &[]), Outcome::bare(0));
    kernel
}

/// What one item leaves.
fn registers(items: &[&[u8]]) -> Vec<u8> {
    let mut registers = vec![0; 65_536];
    for item in items {
        let hash = hash::of(item);
        let register = &mut registers[usize::try_from(hash & 0xffff).expect("16 bits")];
        let rank = (0..48).find(|at| hash >> (16 + at) & 1 == 1).unwrap_or(48) + 1;
        *register = rank.max(*register);
    }
    registers
}

#[test]
fn items_of_each_size_are_counted_whatever_their_order_and_number() {
    let payload: Vec<u8> = (0..48).collect();
    for item in ITEMS {
        let mut kernel = cleared();
        let task = HyperLogLog { item, ..of(Action::Count) };
        assert_eq!(call(&mut kernel, &task, &payload), Outcome::bare(0));
        assert_eq!(call(&mut kernel, &task, &payload[32..]), Outcome::bare(0));
        let items: Vec<&[u8]> = payload.chunks(item.into()).rev().collect();
        assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, registers(&items), "{item} bytes");
    }
}

#[test]
fn read_leaves_the_registers_and_take_and_clear_do_not() {
    let one = registers(&[&[1, 2, 3, 4]]);
    let zeros = vec![0; 65_536];
    let mut kernel = cleared();
    call(&mut kernel, &of(Action::Count), &[1, 2, 3, 4]);
    assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, one);
    assert_eq!(call(&mut kernel, &of(Action::Take), &[]).data, one);
    assert_eq!(call(&mut kernel, &of(Action::Take), &[]).data, zeros);
    call(&mut kernel, &of(Action::Count), &[1, 2, 3, 4]);
    call(&mut kernel, &of(Action::Clear), &[]);
    assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, zeros);
}

#[test]
fn only_who_knows_the_name_has_the_sketch() {
    let mut kernel = Kernel::default();
    for action in [Action::Count, Action::Read, Action::Take] {
        assert_eq!(
            call(&mut kernel, &HyperLogLog { sketch: 0, ..of(action) }, &[]).status,
            0x100,
            "no sketch yet"
        );
    }
    let mut kernel = cleared();
    call(&mut kernel, &of(Action::Count), &[1, 2, 3, 4]);
    let stranger = |action| HyperLogLog { sketch: NAME + 1, ..of(action) };
    let mut log = Log::default();
    assert_eq!(kernel.run(&invocation(&stranger(Action::Count), &[9; 64]), &mut log).status, 0x100);
    assert_eq!(log.0, [], "nothing is stored");
    for action in [Action::Read, Action::Take] {
        assert_eq!(call(&mut kernel, &stranger(action), &[]), Outcome::bare(0x100));
    }
    assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, registers(&[&[1, 2, 3, 4]]));
    assert_eq!(call(&mut kernel, &stranger(Action::Clear), &[]), Outcome::bare(0));
    assert_eq!(call(&mut kernel, &of(Action::Count), &[1, 2, 3, 4]).status, 0x100, "it was lost");
    assert_eq!(call(&mut kernel, &stranger(Action::Read), &[]).data, vec![0; 65_536]);
}

#[test]
fn a_sketch_is_one_domains_until_that_gives_it_up() {
    let mut kernel = cleared();
    call(&mut kernel, &of(Action::Count), &[1, 2, 3, 4]);
    let stranger = |kernel: &mut Kernel, task: &HyperLogLog| {
        let mut invocation = invocation(task, &[]);
        invocation.command.domain = 7;
        kernel.run(&invocation, &mut Log::default())
    };
    let release = HyperLogLog { release: true, ..of(Action::Clear) };
    for task in [of(Action::Clear), release, HyperLogLog { sketch: NAME + 1, ..of(Action::Clear) }] {
        assert_eq!(stranger(&mut kernel, &task), Outcome::bare(0x102), "{task:?}");
    }
    for action in [Action::Count, Action::Read, Action::Take] {
        assert_eq!(stranger(&mut kernel, &of(action)), Outcome::bare(0x100), "{action:?}");
    }
    assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, registers(&[&[1, 2, 3, 4]]), "as it was");
    assert_eq!(call(&mut kernel, &release, &[]), Outcome::bare(0));
    assert_eq!(call(&mut kernel, &of(Action::Read), &[]), Outcome::bare(0x100), "it is nobody's");
    assert_eq!(stranger(&mut kernel, &of(Action::Clear)), Outcome::bare(0));
    assert_eq!(stranger(&mut kernel, &of(Action::Read)).data, vec![0; 65_536], "nothing of the other's");
    assert_eq!(call(&mut kernel, &of(Action::Clear), &[]), Outcome::bare(0x102));
}

/// Address and length of each write of so many bytes.
fn writes(address: u64, len: usize) -> Vec<(u64, usize)> {
    let payload: Vec<u8> = (0..len).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
    let mut log = Log::default();
    let task = HyperLogLog { address, ..of(Action::Count) };
    assert_eq!(cleared().run(&invocation(&task, &payload), &mut log), Outcome::bare(0));
    assert_eq!(log.0.iter().flat_map(|(_, _, bytes)| bytes.clone()).collect::<Vec<u8>>(), payload);
    log.0
        .iter()
        .map(|(key, va, bytes)| {
            assert_eq!(*key, 7);
            (*va, bytes.len())
        })
        .collect()
}

#[test]
fn the_payload_is_stored_in_writes_that_end_with_a_page() {
    assert_eq!(writes(0x1000, 0), []);
    assert_eq!(writes(0x1000, 4), [(0x1000, 4)]);
    assert_eq!(writes(0x1000, 4096), [(0x1000, 4096)]);
    assert_eq!(writes(0x1fc0, 8192), [(0x1fc0, 64), (0x2000, 4096), (0x3000, 4032)]);
    assert_eq!(writes(0x1fff, 128), [(0x1fff, 64), (0x203f, 64)], "never less than 64 bytes");
    assert_eq!(writes(0u64.wrapping_sub(64), 128), [(0u64.wrapping_sub(64), 64), (0, 64)]);
    let mut log = Log::default();
    let task = HyperLogLog { discard: true, ..of(Action::Count) };
    assert_eq!(cleared().run(&invocation(&task, &[1; 64]), &mut log), Outcome::bare(0));
    assert_eq!(log.0, []);
}

#[test]
fn the_first_write_that_fails_is_told_and_all_is_counted() {
    for (address, status) in [(0x00ba_c000, 2), (0x0dea_c000, 6)] {
        let mut kernel = cleared();
        let task = HyperLogLog { address, item: 16, ..of(Action::Count) };
        let mut log = Log::default();
        let payload: Vec<u8> = (0..12_288_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(kernel.run(&invocation(&task, &payload[..12_288]), &mut log), Outcome::bare(status));
        assert_eq!(log.0.len(), 3, "those behind it are made");
        let items: Vec<&[u8]> = payload[..12_288].chunks(16).collect();
        assert_eq!(call(&mut kernel, &of(Action::Read), &[]).data, registers(&items));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = invocation(&of(Action::Count), &[1; 16]);
    assert!(accepted(&good).is_some());
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    let mut cases = vec![
        edit(|head| head.flags = 1),
        edit(|head| head.parameter_words = 4),
        edit(|head| head.parameter_words = 6),
        edit(|head| head.request_length = 19),
        edit(|head| head.request_length = u32::MAX),
        invocation(&HyperLogLog { item: 8, ..of(Action::Count) }, &[1; 12]),
        invocation(&HyperLogLog { item: 16, ..of(Action::Count) }, &[1; 24]),
        invocation(&of(Action::Count), &[1; 3]),
        invocation(&of(Action::Clear), &[1; 4]),
    ];
    for item in [0, 1, 2, 3, 5, 12, 20, 32, 64, 0x84] {
        cases.push(invocation(&HyperLogLog { item, ..of(Action::Count) }, &[]));
    }
    for action in [Action::Read, Action::Take] {
        cases.push(invocation(&of(action), &[1; 4]));
        let mut short = invocation(&of(action), &[]);
        short.command.response_max = 65_535;
        cases.push(short);
    }
    for case in cases {
        let mut kernel = cleared();
        assert_eq!(kernel.run(&case, &mut Log::default()), Outcome::bare(0x101), "{case:?}");
    }
}
