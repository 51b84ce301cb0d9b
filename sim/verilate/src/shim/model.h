// The model-independent part of a shim. The generated file defines MODEL (class name), TRACED (0 or 1),
// PORTS (the port table) and ADDRESSES (writes one address a port), VARIABLES and LOCATE (the same for variables), and
// exports API. GATED (0 or 1) says whether the text has clock domains; then RISEN gives those of which the clock has risen, and
// DOMAINS the WORDS words with a bit for each of them that the model reads and writes.
#include <cstddef>
#include <exception>
#include <string>

namespace {

struct Instance {
    VerilatedContext context;
#if TRACED
    VerilatedVcdC trace;
#endif
    MODEL* model = nullptr;
    std::string error;
#if GATED
    uint8_t levels[CLOCKS] = {};
    QData* edges[WORDS];
    QData* moves[WORDS];
    bool gates = true;
#endif

    // The runtime asks a thread-local for the context in use: several models share a thread. The
    // setter also writes a process-wide "last context"; writing only on a change keeps that line out
    // of the way of models on other threads.
    static Instance* enter(void* self) {
        auto* instance = static_cast<Instance*>(self);
        if (Verilated::threadContextp() != &instance->context) {
            Verilated::threadContextp(&instance->context);
        }
        return instance;
    }
};

void* create(uint64_t seed) {
    auto* instance = Instance::enter(new Instance);
    if (seed != 0) {
        instance->context.randReset(2);
        instance->context.randSeed(static_cast<int>((seed ^ (seed >> 31)) & 0x7fffffff) | 1);
    }
    instance->context.traceEverOn(TRACED != 0);
    instance->model = new MODEL{&instance->context};
#if GATED
    DOMAINS(instance->model, instance->edges, instance->moves);
    // Noise would be taken for levels before the first edge, and a domain whose level is high has no edge ever.
    for (QData* edges : instance->edges) *edges = 0;
#endif
    return instance;
}

void destroy(void* self) {
    auto* instance = Instance::enter(self);
    try {
        if (instance->error.empty()) instance->model->final();
    } catch (const std::exception&) {
        // A model that fails in its final block is going away all the same.
    }
#if TRACED
    if (instance->trace.isOpen()) instance->trace.close();
#endif
    delete instance->model;
    Verilated::threadContextp(nullptr);
    delete instance;
}

void bind(void* self, void** addresses) { ADDRESSES(static_cast<Instance*>(self)->model, addresses); }

const char* eval(void* self, bool inputs_moved) {
    auto* instance = Instance::enter(self);
    auto* model = instance->model;
    try {
#if GATED
        // What lies between inputs and registers first: it says which domains move. A falling edge changes nothing.
        uint64_t risen[WORDS] = {};
        RISEN(model, instance->levels, risen);
        if (inputs_moved) {
            stroma_inputs_moved = true;
            model->eval();
        }
        uint64_t any = 0;
        for (int word = 0; word < WORDS; ++word) {
            const uint64_t edges = instance->gates ? risen[word] & *instance->moves[word] : risen[word];
            *instance->edges[word] = edges;
            any |= edges;
        }
        if (any != 0) {
            stroma_inputs_moved = false;
            model->eval();
        }
#else
        stroma_inputs_moved = inputs_moved;
        model->eval();
#endif
        return nullptr;
    } catch (const std::exception& stopped) {
        instance->error = stopped.what();
        return instance->error.c_str();
    }
}

void set_time(void* self, uint64_t time) {
    auto* instance = Instance::enter(self);
#if TRACED
    if (instance->trace.isOpen()) instance->trace.dump(instance->context.time());
#endif
    instance->context.time(time);
}

bool trace_open(void* self, const char* path) {
#if TRACED
    auto* instance = Instance::enter(self);
    instance->model->trace(&instance->trace, 99);
    instance->trace.open(path);
    return instance->trace.isOpen();
#else
    (void)self;
    (void)path;
    return false;
#endif
}

void gate(void* self, bool gates) {
#if GATED
    static_cast<Instance*>(self)->gates = gates;
#else
    (void)self;
    (void)gates;
#endif
}

void locate(void* self, const void** addresses) {
    LOCATE(static_cast<Instance*>(self)->model->rootp, addresses);
}

const StromaApi API = {STROMA_INTERFACE, sizeof(PORTS) / sizeof(PORTS[0]), PORTS, create, destroy, bind, eval, set_time,
                       trace_open, gate, sizeof(VARIABLES) / sizeof(VARIABLES[0]) - 1, VARIABLES, locate};

}  // namespace
