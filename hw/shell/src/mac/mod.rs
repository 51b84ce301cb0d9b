//! Towards the network: the hard MAC, on its own clock.
//!
//! ```text
//!  MAC's clock                                    core's clock
//!   rx pins -> Gate ------------- AsyncFifo ----> AxisIn -> Mend -> PacketFifo -> AxisOut -> card
//!   tx pins <- Pad <- PacketFifo <- Mend <- AsyncFifo ----- Mend <- AxisIn <---------------- card
//!   ctl, stat pins: Link ---------- Sync2 ------> link_up, tx_pause, status
//! ```
//!
//! The MAC cannot wait: what it gives is taken or lost, what it takes must come without a gap. The two clocks have resets of their
//! own, and whichever comes, both ends of a crossing begin anew together ([`restart`]) and no frame is seen in part ([`mend`]).

pub mod lights;
pub mod link;
pub mod mend;
pub mod pins;
pub mod receive;
pub mod restart;
pub mod tally;
pub mod transmit;

#[cfg(test)]
mod testing;
