//! Cards that are looked at while somebody has them.

use std::net::IpAddr;
use std::sync::Arc;

use stroma_device::VfioUser;
use stroma_verbs::Device;

use crate::stage::Stage;

#[test]
fn a_card_is_looked_at_while_its_client_goes_on() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "2"]);
    let backend = VfioUser::open(&stage.fabric().join("card1")).unwrap();
    let device = Device::open(Arc::new(backend)).unwrap();
    let address: IpAddr = "10.1.2.3".parse().unwrap();
    device.port().set_mac([2, 0, 0, 0, 0, 7]).unwrap();
    device.port().set_address(4, address).unwrap();
    // The client does not stop for it.
    let looking = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let info = stage.done(&["info", "stroma1"]);
            let socket = stage.fabric().join("card1");
            let json = stage.done(&["info", socket.to_str().unwrap(), "--json"]);
            let regs = stage.done(&["regs", "1", "port.mac", "raw_queue_pair", "address_high[4]"]);
            (info, json, regs, stage.done(&["kernels", "stroma1", "--json"]))
        });
        let mut rounds = 0;
        while !looking.is_finished() {
            assert_eq!(device.port().address(4).unwrap(), address);
            rounds += 1;
        }
        assert!(rounds > 10, "{rounds}");
        looking.join().unwrap()
    });
    let (info, json, regs, kernels) = looking;
    for says in
        ["link up, MAC 02:00:00:00:00:07", "address[4]             10.1.2.3", "profile                10g"]
    {
        assert!(info.contains(says), "{says}:\n{info}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["used_by"].as_str().unwrap().starts_with(&format!("pid {}", std::process::id())), "{json}");
    assert_eq!(json["port"]["mac"], "02:00:00:00:00:07");
    assert!(regs.contains("address=7696581394434"), "{regs}");
    assert!(regs.contains("address_high[4]"), "{regs}");
    let kernels: serde_json::Value = serde_json::from_str(&kernels).unwrap();
    assert!(kernels.as_array().unwrap().iter().any(|kernel| kernel["name"] == "traversal"), "{kernels}");
}

#[test]
fn a_card_that_is_not_there_is_named_with_what_there_is() {
    let stage = Stage::new();
    let said = stage.run(&["info", "stroma0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("no fabric runs at ") && said.error.contains("starts one"), "{said:?}");
    let _cards = stage.serve(&["--cards", "1"]);
    let said = stage.run(&["regs", "stroma1"]);
    assert!(said.error.contains("card 1: the fabric has 1, and they are counted from 0"), "{said:?}");
    let said = stage.run(&["regs", "stroma0", "tx_frame"]);
    assert!(said.error.contains("no register and no block is called so"), "{said:?}");
    assert_eq!(stage.run(&["info", "eth0"]).code, Some(2), "wrong use");
}

#[test]
fn a_card_of_a_fabric_is_tested_by_its_name() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    assert_eq!(stage.done(&["selftest", "stroma0"]).lines().count(), 7);
}
