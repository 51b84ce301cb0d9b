//! The recorded exchange between two Linux machines, held once more with a card in the place of each of them.
//!
//! Linux wrote the other side of every frame here, so a misreading of the specification that card and model share shows. The
//! card takes the addresses, first PSNs and buffers of the machine it stands for. Then little has to be translated in a
//! recorded frame: the destination queue pair, and for the server the R_Key and the base of the region. Frames are compared
//! field by field; [`wire`] lists what is free.

mod client;
mod log;
mod recording;
mod server;
mod stage;
mod wire;
