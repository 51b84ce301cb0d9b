//! Examples and exit codes, for `--help` and the manual. A test takes every example at its word.

/// Of the command itself.
pub(crate) const STROMA: &str = "\
Examples:
  stroma exec -- ibv_devinfo                 # a program of libibverbs on simulated cards
  stroma devices                             # which cards there are, and who has them
  stroma ping                                # a message and its answer, between two cards
  stroma perf write --sizes 2..65536         # how fast they are
  stroma inspect stroma0                     # what a program has on its card: queue pairs, regions, the TLB
  stroma capture stroma0                     # what goes over the wire meanwhile
  stroma selftest 0000:41:00.0               # is a board in order?

Exit codes:
  0    done
  1    failed; standard error says why
  2    wrong use
  130  interrupted twice
  exec has the program's; 127 when it is not found, 126 when it cannot be run

Environment:
  STROMA_FABRIC  folder of the fabric, for all commands; else $XDG_RUNTIME_DIR/stroma, else /tmp/stroma-UID
  STROMA_LIB     folder of our libibverbs.so.1, for exec
  STROMA_WAVES   folder of waves, for a fabric";

/// Of `fabric`.
#[cfg(feature = "sim")]
pub(crate) const FABRIC: &str = "\
Examples:
  stroma fabric                                             # two cards for 10 Gbit/s on a cable
  stroma fabric --profile 100g --cards 4 --wire switch
  stroma fabric --loss 0.01 --rule \"drop the 2nd READ response\"
  stroma fabric --plan lab.toml --sockets /tmp/lab
  stroma fabric --detach --linger 60                        # in the background, until a minute after the last program
  stroma fabric --cards 1 --tap stroma0                     # on a network of this machine
  stroma fabric --cards 1 --wire loopback                   # hears itself";

/// Of `exec`.
pub(crate) const EXEC: &str = "\
Examples:
  stroma exec -- ibv_devinfo
  stroma exec --profile 100g --fabric /tmp/100g -- ibv_devinfo
  stroma exec --card 0 -- ib_write_bw -x 1 -F -n 5 -s 4096 -t 4 -Q 1            # a server, which waits for its client
  stroma exec --card 1 -- ib_write_bw -x 1 -F -n 5 -s 4096 -t 4 -Q 1 127.0.0.1  # the client, in another terminal
  stroma exec --card 1 --address 10.0.0.2 -- ./server       # sees the second card alone, with this address
  stroma exec --loss 0.001 --fabric /tmp/lossy -- ./stress  # on cards of its own
  stroma exec --boards --address 10.0.0.1 -- ibv_devinfo    # on the boards of this machine";

/// Of `devices`.
pub(crate) const DEVICES: &str = "\
Examples:
  stroma devices
  stroma devices --json                                     # jq '.fabric.cards[] | select(.is_taken)'";

/// Of `info`.
pub(crate) const INFO: &str = "\
Examples:
  stroma info stroma0
  stroma info 0000:41:00.0 --json
  stroma info sim:100g                                      # what a card of this build would be";

/// Of `regs`.
pub(crate) const REGS: &str = "\
Examples:
  stroma regs stroma0                                       # all that can be read
  stroma regs stroma0 counters                              # a block
  stroma regs stroma0 tx_frames kernels.invoked[3] port.mac --json";

/// Of `kernels`.
pub(crate) const KERNELS: &str = "\
Examples:
  stroma kernels stroma1
  stroma kernels 0000:41:00.0 --json";

/// Of `board`.
pub(crate) const BOARD: &str = "\
Examples:
  stroma board 0000:41:00.0
  stroma board 0000:41:00.0 --limit 95
  stroma board 0000:41:00.0 --json";

/// Of `inspect`.
pub(crate) const INSPECT: &str = "\
Examples:
  stroma inspect                                            # all cards that programs have open
  stroma inspect stroma0 --qp
  stroma inspect stroma0 --qp 3 --mr 0x102 --json
  stroma inspect 0000:41:00.0 --tlb --watch 1";

/// Of `capture`.
#[cfg(feature = "sim")]
pub(crate) const CAPTURE: &str = "\
Examples:
  stroma capture stroma0                                    # a line a frame
  stroma capture stroma0 -c 100 -w frames.pcapng
  stroma capture stroma0 -w - | tshark -r -
  stroma capture stroma0 -w - | wireshark -k -i -";

/// Of `trace`.
#[cfg(feature = "sim")]
pub(crate) const TRACE: &str = "\
Examples:
  STROMA_WAVES=/tmp/waves stroma fabric --detach            # first: cards with waves; made once, in some minutes
  stroma trace stroma0 -o card.vcd --cycles 5000
  gtkwave card.vcd";

/// Of `perf`.
pub(crate) const PERF: &str = "\
Examples:
  stroma perf write --sizes 2..65536
  stroma perf read --profile 100g --qps 8 --size 4096
  stroma perf send --latency --size 64
  stroma perf atomic --csv
  stroma perf write --from 0000:41:00.0 --to 0000:42:00.0   # two boards of this machine, on one wire";

/// Of `ping`.
pub(crate) const PING: &str = "\
Examples:
  stroma ping
  stroma ping --from stroma1 --to stroma0 -c 1000 -q --size 4096
  stroma ping --from 0000:41:00.0 --address 10.0.0.1 --to 10.0.0.2    # a board, and any station of its network
  stroma ping --loss 0.05 --fabric /tmp/lossy -c 100 -q     # what losses do to the slowest";

/// Of `selftest`.
pub(crate) const SELFTEST: &str = "\
Examples:
  stroma selftest 0000:41:00.0
  stroma selftest 0000:41:00.0 --loopback                   # the port, too: with a loopback module in its cage
  stroma selftest stroma0
  stroma selftest sim:100g";

/// Of `bind`.
pub(crate) const BIND: &str = "\
Examples:
  stroma bind 0000:41:00.0 --owner 1000                     # as root; user 1000 may open it then
  stroma unbind 0000:41:00.0";

/// Of `completions`.
pub(crate) const COMPLETIONS: &str = "\
Examples:
  stroma completions bash > ~/.local/share/bash-completion/completions/stroma
  stroma completions zsh > ~/.zfunc/_stroma
  stroma completions fish > ~/.config/fish/completions/stroma.fish";

/// Of `man`.
pub(crate) const MAN: &str = "\
Examples:
  stroma man | man -l -
  stroma man exec | man -l -
  stroma man --folder /usr/local/share/man/man1";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::Arguments;

    /// What the help of each command has behind its flags, `stroma` itself first.
    fn helps() -> Vec<(String, String)> {
        let command = Arguments::command();
        let of = |command: &clap::Command| {
            (
                command.get_name().to_owned(),
                command.get_after_help().map(ToString::to_string).unwrap_or_default(),
            )
        };
        let mut helps = vec![of(&command)];
        helps.extend(command.get_subcommands().map(of));
        helps
    }

    #[test]
    fn every_command_teaches_by_examples() {
        for (name, help) in helps() {
            assert!(help.contains("Examples:\n  "), "{name}");
        }
    }

    #[test]
    fn every_example_is_a_command_that_can_be_given() {
        for (name, help) in helps() {
            for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
                let Some(at) =
                    line.find("stroma ").filter(|at| *at == 0 || line.starts_with("STROMA_WAVES="))
                else {
                    continue;
                };
                let line = line[at..].split(" # ").next().unwrap_or_default();
                let line = line.split(['|', '>']).next().unwrap_or_default();
                let words = line.replace("drop the 2nd READ response", "rule");
                let words = words.split_whitespace().map(|word| word.trim_matches('"'));
                let parsed = Arguments::try_parse_from(words);
                assert!(parsed.is_ok(), "{name}: {line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn the_document_of_the_command_line_has_every_command() {
        let document = include_str!("../../../docs/cli.md");
        for (name, _) in helps().into_iter().skip(1).filter(|(name, _)| name != "unbind") {
            assert!(document.contains(&format!("\n## {name}\n")), "{name}");
            assert!(document.contains(&format!("stroma {name}")), "{name}");
        }
    }
}
