//! What the card asks of the host: its reads and writes of memory.
