// Operations on vectors of more than 64 bits, in place of Verilator's.

// Verilator compares word by word. Four words at once: whether a domain moves is a comparison of each of its registers.
#define VL_EQ_W stroma_equal

// Verilator's shifts put every word together bit by bit where the distance is no multiple of 32. A datapath of 512 bits
// turns its beats by bytes in a dozen places.
#define VL_SHIFTL_WWI stroma_shift_left
#define VL_SHIFTR_WWI stroma_shift_right

__attribute__((always_inline)) static inline IData stroma_equal(int words, WDataInP const lwp, WDataInP const rwp) {
    typedef QData Four __attribute__((vector_size(16), aligned(4), may_alias));
    Four differ = {};
    int i = 0;
    for (; i + 4 <= words; i += 4) {
        differ |= *reinterpret_cast<const Four*>(lwp + i) ^ *reinterpret_cast<const Four*>(rwp + i);
    }
    QData rest = differ[0] | differ[1];
    for (; i < words; ++i) rest |= lwp[i] ^ rwp[i];
    return rest == 0;
}

// Neither output bits beyond `obits` are left set, nor may `owp` be `lwp`, as with Verilator's own.
static inline WDataOutP stroma_shift_left(int obits, int, int, WDataOutP owp, WDataInP const lwp, IData rd) {
    const int words = VL_WORDS_I(obits);
    const int whole = rd >= static_cast<IData>(obits) ? words : static_cast<int>(rd / 32);
    const int bits = rd % 32;
    for (int i = 0; i < whole; ++i) owp[i] = 0;
    if (whole == words) return owp;
    // The word below the lowest is zero; 64 bits at a time, the low half of which is what comes up from the word below.
    QData below = 0;
    for (int i = whole; i < words; ++i) {
        below = below >> 32 | static_cast<QData>(lwp[i - whole]) << 32;
        owp[i] = static_cast<EData>(below >> (32 - bits));
    }
    owp[words - 1] &= VL_MASK_E(obits);
    return owp;
}

static inline WDataOutP stroma_shift_right(int obits, int, int, WDataOutP owp, WDataInP const lwp, IData rd) {
    const int words = VL_WORDS_I(obits);
    const int whole = rd >= static_cast<IData>(obits) ? words : static_cast<int>(rd / 32);
    const int bits = rd % 32;
    const int kept = words - whole;
    for (int i = 0; i + 1 < kept; ++i) {
        const QData both = lwp[i + whole] | static_cast<QData>(lwp[i + whole + 1]) << 32;
        owp[i] = static_cast<EData>(both >> bits);
    }
    if (kept > 0) owp[kept - 1] = lwp[words - 1] >> bits;
    for (int i = kept; i < words; ++i) owp[i] = 0;
    return owp;
}
