// The model-independent part of a shim. The generated file defines MODEL (class name), TRACED (0 or 1),
// PORTS (the port table) and ADDRESSES (writes one address a port), VARIABLES and LOCATE (the same for variables), and
// exports API. ROOT is the class that has the variables of the design, and IN_ROOT(name) one of its functions.
//
// GATED (0 or 1) says whether the text has clock domains, COUNT of them in WORDS words; then RISEN gives those of which the clock has
// risen, HOLDERS the domain that holds each port, -1 for none, and DOMAINS the words with a bit for each domain that the model
// reads and writes. LIST has the STEPS functions that edges make necessary, in order, and CALLS says which of them the present
// triggers call for.
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>

namespace {

#if GATED
// The steps that each domain calls for.
class Needs {
    // Two words at a time, which every processor of this kind joins at once.
    typedef uint64_t Pair __attribute__((vector_size(16)));
    enum { SET = (STEPS + 127) / 128 };
    Pair sets[COUNT][SET] = {};

   public:
    // What an edge of a domain calls for, the model's own tests say.
    Needs(ROOT* root, QData* const* edges) {
        for (int domain = 0; domain < COUNT; ++domain) {
            bool calls[STEPS];
            *edges[domain / 64] = QData{1} << domain % 64;
            IN_ROOT(eval_phase__act)(root);
            CALLS(*root, calls);
            *edges[domain / 64] = 0;
            IN_ROOT(eval_phase__act)(root);
            std::memset(&root->__VnbaTriggered, 0, sizeof root->__VnbaTriggered);
            for (int step = 0; step < STEPS; ++step) {
                sets[domain][step / 128][step / 64 % 2] |= uint64_t{calls[step]} << step % 64;
            }
        }
    }

    // An edge of some domains: all registers first, and then what depends on them, as LIST has them.
    void run(ROOT* root, const uint64_t* edges) const {
        Pair due[SET] = {};
        for (int word = 0; word < WORDS; ++word) {
            for (uint64_t left = edges[word]; left != 0; left &= left - 1) {
                const Pair* set = sets[64 * word + __builtin_ctzll(left)];
                for (int at = 0; at < SET; ++at) due[at] |= set[at];
            }
        }
        for (int at = 0; at < 2 * SET; ++at) {
            auto* const list = LIST + 64 * at;
            for (uint64_t left = due[at / 2][at % 2]; left != 0; left &= left - 1) list[__builtin_ctzll(left)](root);
        }
    }
};
#endif

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
    // Domains of inputs that have been written since the last evaluation.
    uint64_t written[WORDS] = {};
    bool gates = true;
    const Needs* needs = nullptr;
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

void touch(void* self, uint32_t port) {
#if GATED
    const int domain = HOLDERS[port];
    if (domain >= 0) static_cast<Instance*>(self)->written[domain / 64] |= uint64_t{1} << domain % 64;
#else
    (void)self;
    (void)port;
#endif
}

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
    for (uint32_t port = 0; port < sizeof(HOLDERS) / sizeof(HOLDERS[0]); ++port) touch(instance, port);
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

#if GATED
// The first evaluation is Verilator's. What models of one text need is the same, and shared.
void begin(Instance* instance) {
    // Noise would be taken for levels.
    for (QData* edges : instance->edges) *edges = 0;
    instance->model->eval();
    static const Needs needs(instance->model->rootp, instance->edges);
    instance->needs = &needs;
}
#endif

const char* eval(void* self, bool inputs_moved) {
    auto* instance = Instance::enter(self);
    auto* model = instance->model;
    try {
#if GATED
        // Inputs first: what depends on them says which domains move. A falling edge changes nothing.
        uint64_t risen[WORDS] = {};
        RISEN(model, instance->levels, risen);
        if (instance->needs == nullptr) begin(instance);
        if (!instance->gates) {
            for (uint32_t port = 0; port < sizeof(HOLDERS) / sizeof(HOLDERS[0]); ++port) touch(instance, port);
        }
        if (inputs_moved || !instance->gates) {
            instance->needs->run(model->rootp, instance->written);
            std::memset(instance->written, 0, sizeof instance->written);
        }
        uint64_t any = 0;
        for (int word = 0; word < WORDS; ++word) {
            if (instance->gates) risen[word] &= *instance->moves[word];
            any |= risen[word];
        }
        if (any != 0) instance->needs->run(model->rootp, risen);
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
    auto* instance = static_cast<Instance*>(self);
#if TRACED
    Instance::enter(self);
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

const StromaApi API = {STROMA_INTERFACE, sizeof(PORTS) / sizeof(PORTS[0]), PORTS, create, destroy, bind, touch, eval, set_time,
                       trace_open, gate, sizeof(VARIABLES) / sizeof(VARIABLES[0]) - 1, VARIABLES, locate};

}  // namespace
