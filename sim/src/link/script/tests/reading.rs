//! Text to rules and back.

use proptest::prelude::*;
use proptest::{option, sample};
use stroma_abi::wire::{Position, Role};

use super::super::packet::{Family, Kind, Noun};
use super::super::rule::{Action, Clauses, Rule, Which};
use super::*;

#[test]
fn sentences_are_understood_and_given_back() {
    for (text, printed) in [
        ("drop the 2nd READ response of QP 3", "drop the 2nd READ response of QP 3"),
        ("corrupt byte 70 of the next SEND Last", "corrupt byte 70 of the next SEND Last"),
        ("drop packets 3 to 5", "drop packets 3 to 5"),
        ("duplicate every 7th WRITE", "duplicate every 7th WRITE"),
        ("reorder the next two ACKs", "reorder the next 2 ACKs"),
        ("swap the 2nd and the 3rd SEND", "swap the 2nd and the 3rd SEND"),
        ("hold the 4th packet for 20 us", "hold the 4th packet for 20 us"),
        ("hold the 4th packet until 3 others passed", "hold the 4th packet for 1 ms until 3 others passed"),
        ("hold the next CNP", "hold the next CNP for 1 ms until 1 other passed"),
        ("drop all ACKs until 2 ms", "drop all ACKs until 2 ms"),
        ("mark the next WRITE", "mark the next WRITE"),
        ("drop NAKs", "drop all NAKs"),
        ("corrupt bit 5 of byte 20 undetected", "corrupt bit 5 of byte 20 of all packets undetected"),
        ("  DROP   the 12Th write  MIDDLES # of three", "drop the 12th WRITE Middle"),
        ("drop rc_write_onlys 1 to 4", "drop the next 4 RC_WRITE_ONLY"),
        ("corrupt byte 0 of QP 0x11", "corrupt byte 0 of all packets of QP 17"),
        ("drop everything after 3 us until 5 us once", "drop all frames after 3 us until 5 us once"),
        ("drop responses Only with PSN 0xffffff", "drop all response Onlys with PSN 0xffffff"),
        ("drop larger than 1000 bytes", "drop all packets larger than 1000 bytes"),
        (
            "hold 4th frame until 3 ms for 5 ns until 2 others passed",
            "hold the 4th frame for 5 ns until 2 others passed until 3 ms",
        ),
    ] {
        let rules: Rules = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rules.to_string().trim_end(), printed, "{text}");
    }
}

#[test]
fn an_error_names_the_place_and_what_belongs_there() {
    for (text, line, column, expected, found) in [
        ("drip the next WRITE", 1, 1, "`drop`", "`drip`"),
        ("\n# fine\n  drop the WRITE", 3, 12, "`next`, or an ordinal", "`WRITE`"),
        ("drop the 2nd WRIT", 1, 14, "a kind of packets", "`WRIT`"),
        ("drop the 2nd", 1, 13, "a kind of packets", "the end of the line"),
        ("drop the next WRITE response", 1, 15, "some op-code makes", "`WRITE`"),
        ("drop the next ACK First", 1, 15, "some op-code makes", "`ACK`"),
        ("drop the 0th WRITE", 1, 10, "an ordinal", "`0th`"),
        ("drop packets 5 to 3", 1, 19, "no smaller than the first", "`3`"),
        ("drop packets 0 to 3", 1, 14, "a number from 1", "`0`"),
        ("corrupt bit 8 of byte 1", 1, 13, "0 to 7", "`8`"),
        ("corrupt the next WRITE", 1, 9, "`byte`", "`the`"),
        ("swap the 2nd and the 4th SEND", 1, 22, "neighbours", "`4th`"),
        ("reorder the 2nd ACK", 1, 9, "several packets", "`the`"),
        ("reorder ACKs", 1, 9, "several packets", "`ACKs`"),
        ("drop ACKs until 2 parsecs", 1, 19, "ns, us, ms or s", "`parsecs`"),
        ("drop ACKs until 5 s", 1, 19, "less than 4.29 s", "`s`"),
        ("hold ACKs until 0 others passed", 1, 17, "a number from 1", "`0`"),
        ("drop larger than 1_000 bytes", 1, 18, "a number of bytes", "`1_000`"),
        ("drop ACKs of QP 0x1000000", 1, 17, "24 bits", "`0x1000000`"),
        ("drop ACKs of QP 1 of QP 2", 1, 19, "each clause once", "`of`"),
        ("drop ACKs undetected", 1, 11, "belongs to the action", "`undetected`"),
        ("drop ACKs for 3 us", 1, 11, "belongs to the action", "`for`"),
        ("drop ACKs once\ndrop ä b", 2, 6, "a kind of packets", "`ä`"),
        ("drop ACKs ä b", 1, 11, "`of QP`", "`ä`"),
    ] {
        let error = text.parse::<Rules>().expect_err(text);
        assert_eq!((error.line, error.column, error.found.as_str()), (line, column, found), "{text}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
    let error = "drop\tthe".parse::<Rules>().expect_err("an end too early");
    let says = "line 1, column 9 of the script: expected `next`, or an ordinal such as 2nd, found the end of the line";
    assert_eq!(error.to_string(), says);
}

#[test]
fn a_script_without_rules_is_one() {
    let mut rules: Rules = "\n  # nothing\n".parse().expect("a script");
    assert_eq!((rules.to_string().as_str(), rules.judge(&[], 0)), ("", Verdict::Pass));
}

/// A kind that some op-code has: its families, its role and its position, or less than that.
fn kind() -> impl Strategy<Value = Kind> {
    let has_role = |row: &Opcode| row.role != Role::Notice;
    let of_row = (sample::select(opcode::TABLE), any::<[bool; 3]>(), any::<sample::Index>()).prop_map(
        move |(row, [by_family, by_role, by_position], index)| {
            let role = Some(row.role).filter(|_| by_role && has_role(&row));
            let position = Some(row.position).filter(|_| by_position);
            let families: Vec<Family> = Family::ALL
                .into_iter()
                .map(|(family, _)| family)
                .filter(|family| family.holds(&row))
                .collect();
            let noun = if by_family { Noun::Family(*index.get(&families)) } else { Noun::Packet };
            Kind { noun, role, position }
        },
    );
    prop_oneof![
        1 => Just(Kind::of(Noun::Frame)),
        // A notification is its op-code and its family by the same name, which reads as the family.
        3 => (0..opcode::TABLE.len())
            .prop_map(|place| Kind::of(Noun::Opcode(&opcode::TABLE[place])))
            .prop_filter("has a name of its own", |kind| kind.noun != Noun::Opcode(&opcode::CNP)),
        6 => of_row,
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let hold = (0..5_u32, any::<u32>()).prop_map(|(frames, ns)| Action::Hold(Hold { frames, ns }));
    let corrupt = (any::<u32>(), 0..8_u32, any::<bool>())
        .prop_map(|(byte, bit, is_caught)| Action::Corrupt { byte, bit, is_caught });
    let plain = sample::select(vec![Action::Drop, Action::Duplicate, Action::Mark, Action::Reorder]);
    prop_oneof![4 => plain, 1 => hold, 1 => corrupt]
}

fn which() -> impl Strategy<Value = Which> {
    let range = (1..130_u32, prop_oneof![Just(0), Just(1), any::<u32>()])
        .prop_map(|(first, more)| Which::Range { first, last: first.saturating_add(more) });
    prop_oneof![(1..130_u32).prop_map(Which::Every), range]
}

prop_compose! {
    fn clauses()(
        queue_pair in option::of(0..=0xff_ffff_u32),
        psn in option::of(0..=0xff_ffff_u32),
        larger_than in option::of(any::<u32>()),
        after_ns in option::of(prop_oneof![any::<u32>(), (0..5000_u32).prop_map(|us| us * 1000)]),
        until_ns in option::of(any::<u32>()),
        once in option::of(Just(())),
    ) -> Clauses {
        let (queue_pair, psn) = (queue_pair.map(Qpn::new), psn.map(Psn::new));
        Clauses { queue_pair, psn, larger_than, after_ns, until_ns, once }
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_the_same_rule(
        action in action(), which in which(), kind in kind(), clauses in clauses(),
    ) {
        let is_several = matches!(which, Which::Range { first, last } if last > first);
        prop_assume!(action != Action::Reorder || is_several);
        let rule = Rule { action, which, kind, clauses };
        let again = super::super::parse::rule(&mut Words::of(1, &rule.to_string()));
        prop_assert_eq!(again, Ok(rule), "{}", rule);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ a-z0-9#\n]{0,60}", words in proptest::collection::vec(
        sample::select(vec!["drop", "hold", "corrupt", "swap", "the", "next", "every", "2nd", "byte", "1", "of", "QP",
            "READ", "response", "until", "others", "passed", "us", "to", "and", "3rd", "ACKs"]), 0..10,
    )) {
        for text in [text, words.join(" ")] {
            if let Err(ScriptError { line, column, .. }) = text.parse::<Rules>() {
                let named = text.lines().nth(line - 1).expect("a line of the text");
                prop_assert!((1..=named.chars().count() + 1).contains(&column));
            }
        }
    }
}

#[test]
fn every_position_has_its_word() {
    for (word, position) in [
        ("First", Position::First),
        ("Middle", Position::Middle),
        ("Last", Position::Last),
        ("Only", Position::Only),
    ] {
        let rule = super::super::parse::rule(&mut Words::of(1, &format!("drop SENDs {word}")));
        assert_eq!(rule.map(|rule| rule.kind.position), Ok(Some(position)));
    }
}
