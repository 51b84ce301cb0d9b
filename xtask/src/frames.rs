//! `frames`: what the simulated cards send, and what is laid out for kernels, read by programs that others wrote.

mod capture;
mod invocations;
mod rpc;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::program::program;
use crate::rtl::Profile;
use crate::{process, workspace};

/// Computes each ICRC once more, with nothing but Python's own library.
const ICRC: &str = "tests/frames/icrc.py";
/// UDP port of RoCE v2, as IANA has it.
const ROCE: &str = "4791";
/// What tshark prints of a frame, in the order in which [`judge`] reads it.
const FIELDS: [&str; 7] = [
    "frame.number",
    "frame.protocols",
    "udp.dstport",
    "infiniband.bth.opcode",
    "_ws.malformed",
    "_ws.expert.severity",
    "_ws.expert.message",
];
/// From here on tshark's remarks are warnings and errors.
const WARNING: u32 = 0x60_0000;

/// Frames by op-code.
type Counts = BTreeMap<u8, u64>;

/// Has the cards send every kind of frame, then asks tshark and Python's CRC about each.
pub(crate) fn run() -> Result<()> {
    let folder = workspace::target().join("frames");
    let invocations = rpc::check(&folder)?;
    println!("  two simulated cards of each profile send every kind of frame ...");
    let mut cards = program("frames")?;
    cards.arg("--out").arg(&folder);
    // Errors are for the user; the counts are for the comparison.
    let output =
        cards.current_dir(workspace::root()).stderr(Stdio::inherit()).output().context("start frames")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!(
            "{printed}{}\nended with {}\nnext step: the story it names is in tests/frames/traffic.rs; `cargo xtask test` \
             shows whether others fail too",
            process::line(&cards),
            output.status
        );
    }
    for profile in Profile::ALL {
        let path = folder.join(format!("{}.pcapng", profile.name()));
        let (sent, seen) = (counts(&printed, profile.name())?, dissect(&path)?);
        compare(&sent, &seen).with_context(|| look_at(&path, None))?;
        println!("    {}: {} frames, each read by tshark", profile.name(), seen.values().sum::<u64>());
    }
    let mut captures = vec![invocations];
    captures.extend(Profile::ALL.map(|profile| folder.join(format!("{}.pcapng", profile.name()))));
    let output = process::quietly(ICRC, icrc(&captures))?;
    if !output.status.success() {
        bail!(
            "{}\nnext step: the frame is printed above; who disagrees with Annex A17, hw/core/src/tx or {ICRC}?",
            process::tail(&output)
        );
    }
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// Checks every ICRC of the captures, and that a flipped bit of each frame would be noticed.
fn icrc<P: AsRef<Path>>(captures: &[P]) -> Command {
    let mut command = Command::new("python3");
    command.arg(workspace::root().join(ICRC)).arg("--flips");
    command.args(captures.iter().map(AsRef::as_ref)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// The lines `PROFILE OPCODE COUNT NAME` of one profile.
fn counts(printed: &str, profile: &str) -> Result<Counts> {
    let mut counts = Counts::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [of, code, count, _name] = words[..] else { bail!("no count of frames: {line}") };
        if of == profile {
            let code = code.strip_prefix("0x").and_then(|code| u8::from_str_radix(code, 16).ok());
            let code = code.with_context(|| format!("no op-code: {line}"))?;
            counts.insert(code, count.parse().with_context(|| format!("no number: {line}"))?);
        }
    }
    Ok(counts)
}

/// tshark on a capture, before it is told what to print.
fn tshark(path: &Path) -> Result<Command> {
    // The user's own preferences stay out of it.
    let preferences = path.with_extension("preferences");
    fs::create_dir_all(&preferences).with_context(|| format!("create {}", preferences.display()))?;
    let mut tshark = Command::new("tshark");
    tshark.env("WIRESHARK_CONFIG_DIR", &preferences).arg("-n").arg("-r").arg(path);
    // RoCE v2 sends no UDP checksum, over IPv6 neither; what a payload means is nobody's business here.
    for preference in
        ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "udp.ignore_ipv6_zero_checksum:TRUE"]
    {
        tshark.args(["-o", preference]);
    }
    tshark.args(["--disable-protocol", "rpcordma"]);
    Ok(tshark)
}

/// What tshark makes of a capture; an error when it stumbles over a frame.
fn dissect(path: &Path) -> Result<Counts> {
    let mut tshark = tshark(path)?;
    tshark.args(["-T", "fields"]).args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = process::quietly_or_fail(&format!("tshark reads {}", workspace::shown(path)), tshark)
        .context("next step: cargo xtask setup")?;
    judge(&String::from_utf8_lossy(&output.stdout)).map_err(|(number, fault)| {
        anyhow::anyhow!("{}: frame {number}: {fault}", workspace::shown(path))
            .context(look_at(path, Some(number)))
    })
}

fn look_at(path: &Path, number: Option<u64>) -> String {
    let filter = number.map_or(String::new(), |number| format!(" -Y frame.number=={number}"));
    format!("next step: tshark -r {}{filter} -V shows how it reads them", workspace::shown(path))
}

/// Frames by op-code, or the first frame that is not right, and why.
fn judge(lines: &str) -> Result<Counts, (u64, String)> {
    let mut counts = Counts::new();
    for (line, number) in lines.lines().zip(1..) {
        let fault = |fault: &str| (number, format!("{fault}: {}", line.replace('\t', " ")));
        let row: Vec<&str> = line.split('\t').collect();
        let [counted, protocols, port, opcode, malformed, severities, _message] = row[..] else {
            return Err(fault("tshark printed something else than its fields"));
        };
        let is_grave = |severity: &str| severity.parse().map_or(true, |severity: u32| severity >= WARNING);
        if counted.parse() != Ok(number) {
            return Err(fault("tshark left a frame out"));
        }
        if port != ROCE || !protocols.split(':').any(|protocol| protocol == "infiniband") {
            return Err(fault("tshark takes it for something else than RoCE v2"));
        }
        if !malformed.is_empty() || severities.split(',').any(|word| !word.is_empty() && is_grave(word)) {
            return Err(fault("tshark finds fault with it"));
        }
        let Ok(opcode) = opcode.parse() else { return Err(fault("tshark finds no op-code in it")) };
        *counts.entry(opcode).or_default() += 1;
    }
    Ok(counts)
}

/// Both count the same, and something.
fn compare(sent: &Counts, seen: &Counts) -> Result<()> {
    if sent != seen || sent.is_empty() {
        bail!("frames by op-code: the program wrote {sent:?}, tshark read {seen:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "1\teth:ethertype:ip:udp:infiniband\t4791\t10\t\t\t\n\
                        2\teth:ethertype:vlan:ethertype:ipv6:udp:infiniband:data\t4791\t129\t\t4194304\ta note\n";

    #[test]
    fn frames_are_counted_by_op_code() {
        assert_eq!(judge(GOOD), Ok(Counts::from([(10, 1), (129, 1)])));
        let printed = "10g 0x0a 1 RC_WRITE_ONLY\n100g 0x0a 7 RC_WRITE_ONLY\n10g 0x81 1 CNP\n";
        assert_eq!(counts(printed, "10g").unwrap(), Counts::from([(10, 1), (129, 1)]));
        assert_eq!(counts(printed, "100g").unwrap(), Counts::from([(10, 7)]));
        assert!(counts("10g 0x0a RC_WRITE_ONLY", "10g").is_err());
    }

    #[test]
    fn a_frame_that_tshark_stumbles_over_is_refused_with_its_number() {
        for (right, wrong) in [
            ("4194304\ta note", "8388608\tMalformed Packet"),
            ("4194304\ta note", "4194304,6291456\ta note,a warning"),
            ("\t129\t\t", "\t129\tMalformed Packet: InfiniBand\t"),
            ("ipv6:udp:infiniband:data\t4791", "ipv6:udp:data\t4791"),
            ("infiniband:data\t4791", "infiniband:data\t4790"),
            ("\t129\t", "\t\t"),
            ("2\teth", "3\teth"),
            ("\ta note", ""),
        ] {
            let lines = GOOD.replace(right, wrong);
            assert_ne!(lines, GOOD, "{right}");
            assert_eq!(judge(&lines).unwrap_err().0, 2, "{wrong}");
        }
    }

    #[test]
    fn other_counts_and_none_at_all_are_no_success() {
        let counts = Counts::from([(10, 1)]);
        assert!(compare(&counts, &counts).is_ok());
        assert!(compare(&counts, &Counts::from([(10, 2)])).is_err());
        assert!(compare(&Counts::new(), &Counts::new()).is_err());
    }

    /// Frames that scapy made, whose ICRC code is neither ours nor this script's.
    fn frames_of_scapy() -> Vec<Vec<u8>> {
        let text = fs::read_to_string(workspace::root().join("tests/vectors/scapy.hex")).unwrap();
        let byte = |digits: &str, at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let frame = |line: &str| {
            let digits = line.rsplit(' ').next().unwrap();
            (0..digits.len()).step_by(2).map(|at| byte(digits, at)).collect()
        };
        text.lines().filter(|line| !line.starts_with('#')).map(frame).collect()
    }

    /// What the script says of a file of these frames.
    fn verdict(name: &str, frames: &[Vec<u8>]) -> (bool, String) {
        let path = std::env::temp_dir().join(format!("stroma-icrc-{}-{name}.pcapng", std::process::id()));
        fs::write(&path, capture::file(frames)).unwrap();
        let output = icrc(&[&path]).output().unwrap();
        fs::remove_file(&path).unwrap();
        (output.status.success(), process::tail(&output))
    }

    #[test]
    fn the_icrc_script_agrees_with_scapy_and_refuses_a_flipped_bit() {
        let mut frames = frames_of_scapy();
        let (is_right, said) = verdict("scapy", &frames);
        assert!(is_right && said.contains(&format!("{} frames", frames.len())), "{said}");
        let last = frames[5].len() - 5;
        frames[5][last] ^= 1;
        let (is_right, said) = verdict("flipped", &frames);
        assert!(!is_right && said.contains("frame 6: the ICRC is"), "{said}");
    }

    #[test]
    fn a_capture_without_frames_is_no_success_of_the_icrc_script() {
        let (is_right, said) = verdict("empty", &[]);
        assert!(!is_right && said.contains("there is no frame in it"), "{said}");
    }
}
