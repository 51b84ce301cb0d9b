// The model-independent part of a shim. The generated file defines MODEL (class name), TRACED (0 or 1),
// PORTS (the port table) and ADDRESSES (writes one address a port), and exports API.
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
    stroma_inputs_moved = inputs_moved;
    try {
        instance->model->eval();
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

const StromaApi API = {STROMA_INTERFACE, sizeof(PORTS) / sizeof(PORTS[0]), PORTS,    create, destroy,
                       bind,             eval,                             set_time, trace_open};

}  // namespace
