//! From Verilog text to a running model, with the real Verilator and the real compiler.

mod bundle;
mod cache;
mod designs;
mod model;
mod shadow;
mod stream;
