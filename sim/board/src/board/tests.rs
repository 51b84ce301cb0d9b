use stroma_abi::regs::map::{MAGIC, identity};
use stroma_sim::Kind;
use stroma_verilate::{Direction, Port};

use super::pins::{DRIVEN, Pin, READ};
use super::*;

fn card() -> Manifest {
    Kind::from(Profile::HundredGig).verilog_reference().expect("a card").manifest
}

/// The pins of a shell for this card, as a shell with nothing more has them.
fn shell(card: &Manifest) -> Manifest {
    let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
    let mut ports = vec![port("clock", Direction::Clock, 1), port("mac_clock", Direction::Clock, 1)];
    let pins = |pins: &[Pin], direction| -> Vec<Port> {
        pins.iter().map(|pin| port(pin.name, direction, pin.widths[0])).collect()
    };
    ports.extend(pins(&DRIVEN, Direction::In));
    ports.extend(pins(&READ, Direction::Out));
    let left_alone = ["skip", "rx_counts", "tx_mismatched", "cycles", "quiet", "wake", "kernel_clock_rests"];
    for found in &card.ports {
        match found.direction {
            _ if left_alone.iter().any(|name| found.name.starts_with(name)) => {}
            Direction::Clock => {}
            Direction::In if found.name == "reset" => ports.push(port("card_reset", Direction::Out, 1)),
            Direction::In => ports.push(port(&found.name, Direction::Out, found.width)),
            Direction::Out => ports.push(port(&found.name, Direction::In, found.width)),
        }
    }
    ports.push(port("led_value", Direction::Out, 64));
    Manifest { top: "stroma_shell".to_owned(), ports, domains: Vec::new() }
}

/// A shell that waits for the cycle in which the card takes nothing after its reset, loads the word that has the card's magic in it and shows it, and does nothing else.
fn stand_in(manifest: &Manifest) -> Verilog {
    let list: Vec<String> = manifest
        .ports
        .iter()
        .map(|port| {
            let way = if port.direction == Direction::Out { "output" } else { "input" };
            format!("{way} wire [{}:0] {}", port.width - 1, port.name)
        })
        .collect();
    let driven =
        ["card_reset", "s_axil_araddr", "s_axil_arvalid", "s_axil_rready", "led_value", "ctl_rx_enable"];
    let zeros: Vec<String> = manifest
        .ports
        .iter()
        .filter(|port| port.direction == Direction::Out && !driven.contains(&&*port.name))
        .map(|port| format!("assign {} = 0;", port.name))
        .collect();
    let address = identity::MAGIC.offset / 8 * 8;
    let text = format!(
        "module stroma_shell({});\n{}\n\
         reg rested = 0; reg asked = 0; reg got = 0; reg [63:0] value = 0;\n\
         assign card_reset = reset; assign s_axil_arvalid = rested & !asked; assign s_axil_rready = asked & !got;\n\
         assign s_axil_araddr = {address}; assign led_value = value; assign ctl_rx_enable = 1;\n\
         always @(posedge clock) begin\n\
           rested <= !reset;\n\
           if (s_axil_arvalid & s_axil_arready) asked <= 1;\n\
           if (s_axil_rvalid & s_axil_rready) begin got <= 1; value <= s_axil_rdata; end\n\
         end\nendmodule\n",
        list.join(", "),
        zeros.join("\n")
    );
    Verilog { text, manifest: manifest.clone() }
}

#[test]
fn a_shell_with_all_pins_fits_and_every_pin_is_somewhere() {
    let card = card();
    let shell = shell(&card);
    let plan = join(&card, &shell).expect("they fit");
    let joined = plan.to_shell.len() + plan.to_card.len();
    assert_eq!(joined + plan.pins.len(), shell.ports.len() - 3, "all but clocks and the LED");
    assert!(plan.to_card.contains(&("reset".to_owned(), "card_reset".to_owned())));
    assert_eq!(plan.card_zero, ["skip"]);
}

#[test]
fn a_pin_that_is_missing_too_many_or_of_another_width_is_named() {
    let card = card();
    let whole = shell(&card);
    let without = |name: &str| {
        let mut shell = whole.clone();
        shell.ports.retain(|port| port.name != name);
        shell
    };
    let with = |name: &str, direction, width| {
        let mut shell = whole.clone();
        shell.ports.push(Port { name: name.to_owned(), direction, width });
        shell
    };
    let wider = |name: &str| {
        let mut shell = whole.clone();
        shell.ports.iter_mut().filter(|port| port.name == name).for_each(|port| port.width += 1);
        shell
    };
    for (shell, fault) in [
        (without("m_axi_awready"), "no Out `m_axi_awready`"),
        (without("m_axi_awaddr"), "no In `m_axi_awaddr`"),
        (without("card_reset"), "no Out `card_reset`"),
        (without("s_axis_rq_tdata"), "no `s_axis_rq_tdata`"),
        (without("mac_clock"), "the shell has the clocks"),
        (with("m_axi_awuser", Direction::In, 1), "nobody drives the shell's `m_axi_awuser`"),
        (with("spare", Direction::Out, 1), "nobody reads the shell's `spare`"),
        (wider("m_axi_wdata"), "`m_axi_wdata` has 512 bits at the card, 513"),
        (wider("s_axis_rq_tuser"), "`s_axis_rq_tuser` has 138 bits"),
    ] {
        let faults = join(&card, &shell).expect_err(fault).to_string();
        assert!(faults.contains(fault), "{fault}: {faults}");
    }
    let plan = join(&card, &with("stat_rx_bad_fcs", Direction::In, 3)).expect("statistics are 0");
    assert!(plan.shell_constant.contains(&("stat_rx_bad_fcs".to_owned(), 0)));
}

#[test]
fn card_and_shell_run_in_step() {
    let shell = stand_in(&shell(&card()));
    let options = Options { seed: 7, ..Options::default() };
    let mut board = Board::new(&shell, (CORE_PS, MAC_PS), &options).expect("a board");
    board.hear(Some(false));
    for _ in 0..2000 {
        board.step();
    }
    let value = board.peek("led_value").expect("a pin of the shell");
    assert_eq!(value[identity::MAGIC.offset / 4 % 2], MAGIC);
    assert!(board.mac.pins().aligned);
    // 2000 edges of both clocks: 322.265625 of 572.265625 are the MAC's.
    assert!((873..875).contains(&board.cycle()), "{}", board.cycle());
}
