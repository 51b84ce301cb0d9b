//! From the card to the MAC.
