//! A connection: all that both ends have to agree on, in one place.

use stroma_abi::{Psn, Qpn};

use crate::{Access, Address, Attributes, QueuePair, QueuePairKind, Result};

/// What one end of a connection is told. Numbers as libibverbs' examples choose them stand in [`Connection::new`]. An unreliable one answers
/// nothing and repeats nothing: what is said of READs, of waiting and of retries does not concern it.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Where the peer is.
    pub address: Address,
    /// Its queue pair.
    pub peer: Qpn,
    /// PSN of the first request sent: what the peer expects.
    pub send_psn: Psn,
    /// PSN of the first request received: what the peer sends.
    pub receive_psn: Psn,
    /// Path MTU, by its code: 1 256 bytes, 2 512, 3 1024, 4 2048, 5 4096.
    pub path_mtu: u8,
    /// What the peer may do with regions that allow it.
    pub rights: Access,
    /// Partition.
    pub p_key: u16,
    /// READs to have in flight.
    pub reads_out: u8,
    /// READs to take from the peer.
    pub reads_in: u8,
    /// Wait for an answer 4.096 us << this; 0: for ever.
    pub timeout: u8,
    /// Requests are repeated as often.
    pub retry: u8,
    /// As often after RNR NAKs; 7: for ever.
    pub rnr_retry: u8,
    /// Timer code sent with RNR NAKs.
    pub min_rnr: u8,
}

impl Connection {
    /// A connection to a queue pair: 4096 bytes a packet, all rights, 16 READs each way, 67 ms, seven retries.
    #[must_use]
    pub fn new(address: Address, peer: Qpn, send_psn: Psn, receive_psn: Psn) -> Self {
        Self {
            address,
            peer,
            send_psn,
            receive_psn,
            path_mtu: 5,
            rights: Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC,
            p_key: 0xffff,
            reads_out: 16,
            reads_in: 16,
            timeout: 14,
            retry: 7,
            rnr_retry: 7,
            min_rnr: 12,
        }
    }
}

impl QueuePair {
    /// Connects two queue pairs of one card, both in Reset, which grant each other `rights`. What they send does not leave the card.
    ///
    /// # Errors
    /// [`NoOwnAddress`](crate::Error::NoOwnAddress) when the port has none; [`OtherDevice`](crate::Error::OtherDevice); as [`Self::modify`].
    pub fn connect_locally(&self, other: &QueuePair, rights: Access) -> Result<()> {
        self.device().check_same(other.device(), "queue pair")?;
        let address = self.device().port().own_address()?;
        for [one, peer] in [[self, other], [other, self]] {
            let to = Connection::new(address, Qpn::new(peer.number()), Psn::new(0), Psn::new(0));
            one.connect(&Connection { rights, ..to })?;
        }
        Ok(())
    }

    /// From Reset to ready-to-send: this end of a connection stands, reliable or not.
    ///
    /// # Errors
    /// As [`Self::modify`].
    pub fn connect(&self, to: &Connection) -> Result<()> {
        self.to_init(self.with_results(Attributes::default().rights(to.rights).p_key(to.p_key))?)?;
        let receive = Attributes::default().address(&to.address).path_mtu(to.path_mtu).peer(to.peer);
        if self.kind() == QueuePairKind::Unreliable {
            self.to_rtr(receive.receive_psn(to.receive_psn))?;
            return self.to_rts(Attributes::default().send_psn(to.send_psn));
        }
        self.to_rtr(receive.receive_psn(to.receive_psn).reads_in(to.reads_in).min_rnr(to.min_rnr))?;
        let send = Attributes::default().send_psn(to.send_psn).timeout(to.timeout).retry(to.retry);
        self.to_rts(send.rnr_retry(to.rnr_retry).reads_out(to.reads_out))
    }
}
