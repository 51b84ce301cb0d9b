//! What the IP of a board is set to, and the scripts that do so.

use std::fmt::Write;

use crate::board::Board;
use crate::ip::Ip;
use crate::top::{INIT_MHZ, MAC_MODULE, PCIE_MODULE};

/// An IP of a board, and what it is set to.
pub struct Setting {
    /// What is known of it.
    pub ip: Ip,
    /// The module that it becomes.
    pub module: &'static str,
    /// Properties and values: those of the board first, for some of them reset others.
    pub properties: Vec<(String, String)>,
}

/// The IP of a board.
///
/// # Errors
/// When what is known of them cannot be read.
pub fn settings(board: &Board) -> Result<[Setting; 2], toml::de::Error> {
    Ok([
        setting(Ip::known("cmac_usplus")?, MAC_MODULE, mac(board)),
        setting(Ip::known(board.pcie_ip())?, PCIE_MODULE, pcie(board)),
    ])
}

fn setting(ip: Ip, module: &'static str, own: Vec<(&'static str, String)>) -> Setting {
    let mut properties: Vec<(String, String)> =
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let common =
        ip.properties.iter().filter_map(|property| Some((property.name.clone(), property.want.clone()?)));
    properties.extend(common);
    Setting { ip, module, properties }
}

fn mac(board: &Board) -> Vec<(&'static str, String)> {
    const LANES: [&str; 4] = ["LANE1_GT_LOC", "LANE2_GT_LOC", "LANE3_GT_LOC", "LANE4_GT_LOC"];
    let qsfp = &board.qsfp;
    let mut own = vec![
        ("CMAC_CORE_SELECT", qsfp.mac.clone()),
        ("GT_GROUP_SELECT", qsfp.transceivers.clone()),
        ("GT_REF_CLK_FREQ", format!("{}", qsfp.clock.mhz)),
        ("GT_DRP_CLK", format!("{INIT_MHZ}")),
    ];
    own.extend(LANES.into_iter().zip(qsfp.sites()));
    own
}

fn pcie(board: &Board) -> Vec<(&'static str, String)> {
    let mut own = vec![("en_gt_selection", "true".to_owned()), ("select_quad", board.pcie.quad.clone())];
    // AMD's own presets of the other kind of block leave the site to the quad.
    if board.pcie_ip() == "pcie4_uscale_plus" {
        own.push(("pcie_blk_locn", board.pcie.location.clone()));
    }
    own
}

impl Setting {
    /// The script that makes the IP.
    #[must_use]
    pub fn script(&self) -> String {
        let Self { ip, module, properties } = self;
        let mut text = format!(
            "# {}, {} {}. Properties, values and who says so: citations.md.\n\
             create_ip -name {} -vendor xilinx.com -library ip -module_name {module} -dir $ip_folder\n\
             set_property -dict [list \\\n",
            module, ip.document, ip.version, ip.name
        );
        for (name, value) in properties {
            let _ = writeln!(text, "    CONFIG.{name} {{{value}}} \\");
        }
        let _ = write!(
            text,
            "] [get_ips {module}]\n\
             set_property GENERATE_SYNTH_CHECKPOINT true [get_files {module}.xci]\n"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(board: &str, module: &str) -> Vec<(String, String)> {
        let settings = settings(&Board::named(board).unwrap()).unwrap();
        settings.into_iter().find(|setting| setting.module == module).unwrap().properties
    }

    fn value(properties: &[(String, String)], name: &str) -> Option<String> {
        properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn every_property_is_set_once_and_is_known() {
        for name in crate::names() {
            for Setting { ip, properties, .. } in settings(&Board::named(name).unwrap()).unwrap() {
                for (index, (property, _)) in properties.iter().enumerate() {
                    assert!(ip.properties.iter().any(|known| known.name == *property), "{name}: {property}");
                    assert!(
                        properties[..index].iter().all(|(other, _)| other != property),
                        "{name}: {property} is set twice"
                    );
                }
            }
        }
    }

    #[test]
    fn sites_lanes_and_clocks_are_the_boards() {
        let mac = values("u280", MAC_MODULE);
        let expected = [
            ("CMAC_CORE_SELECT", "CMACE4_X0Y6"),
            ("GT_GROUP_SELECT", "X0Y40~X0Y43"),
            ("LANE1_GT_LOC", "X0Y40"),
            ("LANE4_GT_LOC", "X0Y43"),
            ("GT_REF_CLK_FREQ", "156.25"),
            ("GT_DRP_CLK", "100"),
            ("INCLUDE_RS_FEC", "1"),
        ];
        for (name, expected) in expected {
            assert_eq!(value(&mac, name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(value(&values("u55c", MAC_MODULE), "GT_REF_CLK_FREQ").as_deref(), Some("161.1328125"));
    }

    /// What the driver looks for, and what the simulated card has.
    #[test]
    fn the_host_finds_the_function_that_the_driver_knows() {
        let pcie = values("u200", PCIE_MODULE);
        let expected = [
            ("vendor_id", "10ee"),
            ("PF0_DEVICE_ID", "5354"),
            ("PF0_CLASS_CODE", "020000"),
            ("PF0_MSIX_CAP_TABLE_SIZE", "01F"),
            ("PF0_MSIX_CAP_TABLE_BIR", "BAR_5:4"),
            ("PF0_MSIX_CAP_PBA_OFFSET", "00000800"),
            ("pcie_blk_locn", "X1Y2"),
            ("AXISTEN_IF_EXT_512_RC_STRADDLE", "false"),
        ];
        for (name, expected) in expected {
            assert_eq!(value(&pcie, name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(value(&values("u50", PCIE_MODULE), "pcie_blk_locn"), None);
    }
}
