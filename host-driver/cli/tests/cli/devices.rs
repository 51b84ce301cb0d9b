//! Which cards there are, and who has them.

use stroma_device::VfioUser;

use crate::stage::Stage;

#[test]
fn cards_of_a_fabric_are_listed_with_who_has_them() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let _taken = VfioUser::open(&stage.fabric().join("card1")).unwrap();
    let said = stage.done(&["devices"]);
    let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[2][..3], ["stroma0", "10g", "free"]);
    let process = std::process::id().to_string();
    assert_eq!(rows[3][..4], ["stroma1", "10g", "pid", &process]);
    assert!(rows[3][4].starts_with('('), "{said}");
    let json: serde_json::Value = serde_json::from_str(&stage.done(&["devices", "--json"])).unwrap();
    assert_eq!(json["fabric"]["cards"][1]["pid"], std::process::id());
    assert_eq!(json["fabric"]["cards"][0]["is_taken"], false);
}

#[test]
fn where_nothing_is_nothing_is_listed() {
    let stage = Stage::new();
    let said = stage.run(&["devices"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""));
    assert!(said.error.starts_with("no cards: no fabric runs at "), "{said:?}");
    let elsewhere = stage.path("elsewhere");
    let said = stage.run(&["devices", "--fabric", elsewhere.to_str().unwrap(), "--json"]);
    assert!(said.out.contains("\"fabric\": null"), "{said:?}");
}
