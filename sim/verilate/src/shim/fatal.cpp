// Verilator's own vl_fatal ends the process ($stop, $fatal, loops that do not settle). A test must
// survive that: the shim catches this exception and hands its text to Rust.
#include "verilated.h"

#include <stdexcept>
#include <string>

void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string{file} + ":" + std::to_string(line) + ": " + message);
}
