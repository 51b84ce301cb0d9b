//! From the MAC to the card.
