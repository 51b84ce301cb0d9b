//! Messages, configuration space, function-level reset.

use super::*;
use stroma_verilate::Pause;

fn ring(rig: &mut Rig, address: u64, data: u32) -> bool {
    rig.shell.message = MessagePins { int: true, address, data };
    rig.step();
    rig.shell.message.int = false;
    for _ in 0..100 {
        rig.step();
        let pins = rig.block.pins();
        if pins.message_sent || pins.message_failed {
            return pins.message_sent;
        }
    }
    panic!("neither sent nor failed");
}

#[test]
fn a_message_arrives_behind_writes_whose_numbers_were_reported() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.send(Asked::write(BASE, &[0xabcd]).with_user(61, 6, 33).beats());
    while rig.sequence != [33] {
        rig.step();
    }
    assert!(ring(&mut rig, 0xfee0_0000, 4));
    let mut message = None;
    for _ in 0..200 {
        let before = rig.bytes(0, 2);
        message = rig.block.message();
        if message.is_some() {
            assert_eq!(before, [0xcd, 0xab]);
            break;
        }
        rig.step();
    }
    assert_eq!(message, Some(Message { address: 0xfee0_0000, data: 4 }));
}

#[test]
fn a_message_may_overtake_what_still_waits_for_credits() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.block.set_weather(Weather { credits: Pause::Always, ..Weather::default() });
    for _ in 0..70 {
        if rig.block.pins().rq_ready {
            rig.send(Asked::write(BASE, &[1]).beats());
        }
    }
    rig.run(50);
    let reported = rig.sequence.len();
    assert_eq!(reported, 64);
    assert!(ring(&mut rig, 0xfee0_0000, 1));
    rig.run(200);
    assert!(rig.block.message().is_some() && rig.block.visible() == 65);
}

#[test]
fn messages_fail_when_they_are_switched_off_or_by_chance() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.block.set_weather(Weather { messages: Pause::Always, ..Weather::default() });
    assert!(!ring(&mut rig, 0xfee0_0000, 1));
    rig.block.set_weather(Weather::default());
    assert!(ring(&mut rig, 0xfee0_0000, 1));
    rig.block.set_config(Config { msix_enable: false, ..Config::default() });
    assert!(!ring(&mut rig, 0xfee0_0000, 1), "the shell could not know yet");
    assert_eq!(rig.block.visible(), 0, "none is visible yet");
}

#[test]
fn messages_that_break_a_rule_are_told_which() {
    type Story<'a> = &'a dyn Fn(&mut Rig);
    let twice = |rig: &mut Rig| {
        for int in [true, false, true] {
            rig.shell.message = MessagePins { int, address: 0x1000, data: 0 };
            rig.step();
        }
    };
    let crooked = |rig: &mut Rig| assert!(ring(rig, 0x1002, 0));
    let masked = |rig: &mut Rig| {
        rig.block.set_config(Config { msix_mask: true, ..Config::default() });
        rig.run(100);
        ring(rig, 0x1000, 0);
    };
    let cases: [(Story, &str); 3] =
        [(&twice, "before the last"), (&crooked, "not aligned"), (&masked, "off or masked")];
    for (run, rule) in cases {
        let run = std::panic::AssertUnwindSafe(run);
        let told = panics(move || run(&mut Rig::new(Config::default(), 1)));
        assert!(told.as_ref().is_some_and(|told| told.contains(rule)), "{rule}: {told:?}");
    }
}

fn configured(rig: &mut Rig, address: u16) -> Option<u32> {
    rig.shell.management = Management { address, read: true, ..Management::default() };
    for _ in 0..20 {
        rig.step();
        if let Some(data) = rig.block.pins().management_data {
            rig.step();
            rig.shell.management.read = false;
            rig.step();
            assert_eq!(rig.block.pins().management_data, None, "a read is done once");
            return Some(data);
        }
    }
    rig.shell.management.read = false;
    rig.step();
    None
}

#[test]
fn configuration_space_tells_what_the_host_has_set_up() {
    for (max_payload, max_read, extended_tags, control) in
        [(128, 512, false, 0x2000), (256, 4096, true, 0x5120), (1024, 128, true, 0x0160)]
    {
        let mut rig = Rig::new(Config { max_payload, max_read, extended_tags, ..Config::default() }, 1);
        assert_eq!(configured(&mut rig, 0x1e), Some(control));
        let pins = rig.block.pins();
        assert_eq!(
            (u32::from(pins.max_payload), u32::from(pins.max_read)),
            (control >> 5 & 7, control >> 12)
        );
        assert_eq!(pins.function_status, 6);
    }
    let mut rig = Rig::new(Config::default(), 1);
    rig.block.ignore_management(true);
    assert_eq!(configured(&mut rig, 0x1e), None);
}

#[test]
fn configuration_space_is_read_alone_and_one_register_at_a_time() {
    let read = Management { address: 0x1e, read: true, ..Management::default() };
    for (pins, rule) in [
        (Management { write: true, ..read }, "cfg_mgmt_write"),
        (Management { function: 1, ..read }, "no register"),
        (Management { address: 0x1f, ..read }, "changes during a read"),
    ] {
        let told = panics(move || {
            let mut rig = Rig::new(Config::default(), 1);
            for pins in [read, pins] {
                rig.shell.management = pins;
                rig.step();
            }
        });
        assert!(told.as_ref().is_some_and(|told| told.contains(rule)), "{rule}: {told:?}");
    }
}

#[test]
fn a_function_level_reset_ends_reads_and_waits_for_the_shell() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.send(Asked::read(BASE, 16, 2).beats());
    let load = rig.block.load(Bar::Bar0, 0, 4);
    rig.run(10);
    rig.block.start_function_reset();
    let pins = rig.block.pins();
    assert_eq!((pins.flr_in_process, pins.function_status, pins.msix_enable), (1, 2, false));
    rig.run(100);
    assert_eq!(rig.completions.len(), 1);
    assert_eq!((field(&rig.completions[0], 12, 4), field(&rig.completions[0], 64, 8)), (8, 2));
    assert_eq!(rig.block.loaded(load), Some(vec![0xff; 4]));
    assert!(rig.block.is_resetting());
    rig.shell.flr_done = 1;
    rig.step();
    rig.shell.flr_done = 0;
    rig.step();
    assert!(!rig.block.is_resetting());
    let told = panics(|| {
        let mut rig = Rig::new(Config::default(), 1);
        rig.shell.flr_done = 1;
        rig.step();
    });
    assert!(told.is_some_and(|told| told.contains("without a function-level reset")));
}

#[test]
fn requests_made_before_the_shell_knows_of_a_reset_are_dropped() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.block.start_function_reset();
    rig.send(Asked::write(BASE, &[1]).beats());
    rig.send(Asked::read(BASE, 4, 200).beats());
    rig.run(400);
    assert_eq!((rig.bytes(0, 4), rig.completions.len()), (vec![0; 4], 1));
    assert_eq!(field(&rig.completions[0], 43, 3), 1, "refused");
}
