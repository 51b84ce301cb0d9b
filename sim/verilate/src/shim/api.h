// What a model shows to Rust. `ffi.rs` mirrors every struct of this file; change both together and
// raise STROMA_INTERFACE.
#pragma once
#include <cstdint>

#define STROMA_INTERFACE 4u

struct StromaPort {
    const char* name;     // Verilog spelling
    uint32_t width;       // bits
    uint32_t direction;   // 0 in, 1 out, 2 clock
};

struct StromaVariable {
    const char* name;     // path in the design, Verilator's spelling
    uint32_t bytes;
};

struct StromaApi {
    uint32_t interface;
    uint32_t port_count;
    const StromaPort* ports;
    // Seed 0 starts all state at zero; any other seed fills it with seeded noise.
    void* (*create)(uint64_t seed);
    void (*destroy)(void* self);
    // Writes the address of each port's memory, in the order of `ports`.
    void (*bind)(void* self, void** addresses);
    // An input other than a clock, by its index in `ports`, has been written.
    void (*touch)(void* self, uint32_t port);
    // Null, or why the model stopped; the text lives as long as the model. `inputs_moved`: has an input other than a clock
    // changed since the last call?
    const char* (*eval)(void* self, bool inputs_moved);
    // Sets the model's time, and dumps when a trace is open.
    void (*set_time)(void* self, uint64_t time);
    // False when the model was built without traces or the file cannot be written.
    bool (*trace_open)(void* self, const char* path);
    // With false, every clock domain has every edge of its clock. Models without domains have them always.
    void (*gate)(void* self, bool gates);
    // What the design keeps between evaluations: registers, memories, and signals that Verilator did not dissolve.
    uint32_t variable_count;
    const StromaVariable* variables;
    // Writes the address of each variable, in the order of `variables`.
    void (*locate)(void* self, const void** addresses);
};
