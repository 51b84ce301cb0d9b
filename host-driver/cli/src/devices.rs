//! Which cards there are: simulated ones of a fabric, and boards in this machine.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use stroma_control::{CardStatus, Status};

use crate::bind::{Board, System};
use crate::table::Table;

/// All that is found.
#[derive(Debug, Serialize)]
pub(crate) struct Devices {
    /// `None` when no fabric runs.
    fabric: Option<Status>,
    pci: Vec<Board>,
}

impl Devices {
    /// Looks.
    pub(crate) fn find(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self { fabric: stroma_control::find(folder)?, pci: System::here().boards() })
    }

    pub(crate) fn are_none(&self) -> bool {
        self.fabric.is_none() && self.pci.is_empty()
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["device", "profile", "used by", "where"]);
        if let Some(fabric) = &self.fabric {
            for card in &fabric.cards {
                let name = format!("stroma{}", card.number);
                table.row([name, fabric.profile.clone(), user(card), card.socket.display().to_string()]);
            }
        }
        for Board { address, driver } in &self.pci {
            let driver = driver.as_deref().unwrap_or("no driver");
            table.row([address.clone(), "-".into(), driver.to_owned(), "PCI".into()]);
        }
        write!(out, "{table}")
    }
}

/// Who has a card.
pub(crate) fn user(card: &CardStatus) -> String {
    match (card.is_taken, card.pid) {
        (false, _) => "free".to_owned(),
        (true, None) => "a process".to_owned(),
        (true, Some(pid)) => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
            Ok(name) => format!("pid {pid} ({})", name.trim_end()),
            Err(_) => format!("pid {pid}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_listed_with_who_has_them() {
        let card = |number: usize, pid: Option<u32>| CardStatus {
            number,
            socket: format!("/run/stroma/card{number}").into(),
            is_taken: pid.is_some(),
            pid,
        };
        let fabric = Status {
            process: 1,
            profile: "100g".to_owned(),
            wire: "cable".to_owned(),
            simulated_ns: 0,
            // No process has the last number.
            cards: vec![
                card(0, None),
                card(1, Some(u32::MAX)),
                CardStatus { is_taken: true, ..card(2, None) },
            ],
            plan: serde_json::Value::Null,
        };
        let board = Board { address: "0000:41:00.0".to_owned(), driver: Some("vfio-pci".to_owned()) };
        let devices = Devices { fabric: Some(fabric), pci: vec![board] };
        let text = "\
device        profile  used by         where
------        -------  -------         -----
stroma0       100g     free            /run/stroma/card0
stroma1       100g     pid 4294967295  /run/stroma/card1
stroma2       100g     a process       /run/stroma/card2
0000:41:00.0  -        vfio-pci        PCI
";
        assert_eq!(devices.to_string(), text);
    }

    #[test]
    fn the_program_of_a_client_is_named() {
        let pid = std::process::id();
        let card = CardStatus { number: 0, socket: "x".into(), is_taken: true, pid: Some(pid) };
        let name = std::fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(user(&card), format!("pid {pid} ({})", name.trim_end()));
    }
}
