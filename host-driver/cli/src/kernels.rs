//! The catalogue of a card: which kernels it has, and how often they ran.

use std::fmt;

use serde::Serialize;
use stroma_abi::kernel;
use stroma_device::Card;
use stroma_verbs::{KernelCounters, kernel_counters_of, kernels_of};

use crate::table::Table;

/// A kernel of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    slot: usize,
    /// `None` where the op-code is not one of ours.
    name: Option<&'static str>,
    operation: u16,
    version: u16,
    parameter_layout: u32,
    invoked: u64,
    succeeded: u64,
    failed: u64,
    stopped: u64,
}

/// All of them, by slot.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Catalogue(Vec<Entry>);

impl Catalogue {
    /// Of a card.
    pub(crate) fn of(card: &Card) -> anyhow::Result<Self> {
        let entries = kernels_of(card)?.into_iter().map(|kernel| {
            let slot = kernel.slot;
            let KernelCounters { invoked, succeeded, failed, stopped } = kernel_counters_of(card, slot)?;
            Ok(Entry {
                slot,
                name: kernel::name(kernel.operation),
                operation: kernel.operation,
                version: kernel.version,
                parameter_layout: kernel.parameter_layout,
                invoked,
                succeeded,
                failed,
                stopped,
            })
        });
        Ok(Self(entries.collect::<anyhow::Result<_>>()?))
    }
}

impl fmt::Display for Catalogue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "slot",
            "kernel",
            "op-code",
            "version",
            "layout",
            "invoked",
            "succeeded",
            "failed",
            "stopped",
        ]);
        for entry in &self.0 {
            table.row([
                entry.slot.to_string(),
                entry.name.unwrap_or("?").to_owned(),
                entry.operation.to_string(),
                entry.version.to_string(),
                format!("{:#010x}", entry.parameter_layout),
                entry.invoked.to_string(),
                entry.succeeded.to_string(),
                entry.failed.to_string(),
                entry.stopped.to_string(),
            ]);
        }
        write!(out, "{table}")
    }
}
