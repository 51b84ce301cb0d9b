//! What the host asks of the card: its loads and stores.
