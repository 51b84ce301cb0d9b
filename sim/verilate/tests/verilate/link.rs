//! Two models and one runtime in one program, linked statically.

use crate::designs;
use std::process::Command;
use stroma_verilate::{Error, archives};

/// Asks both tables for their port count, runs both models one cycle.
const PROGRAM: &str = r#"
#include "api.h"
#include <cstdio>
#include <initializer_list>
extern "C" const StromaApi* stroma_model_first();
extern "C" const StromaApi* stroma_model_second();
int main() {
    for (const StromaApi* api : {stroma_model_first(), stroma_model_second()}) {
        void* model = api->create(0);
        void* ports[16];
        api->bind(model, ports);
        for (int level : {0, 1, 0}) {
            for (unsigned i = 0; i < api->port_count; ++i)
                if (api->ports[i].direction == 2) *static_cast<char*>(ports[i]) = level;
            if (const char* stopped = api->eval(model, true)) return std::puts(stopped), 1;
        }
        std::printf("%u ports, last is %s\n", api->port_count, api->ports[api->port_count - 1].name);
        api->destroy(model);
    }
}
"#;

#[test]
fn two_models_share_one_runtime() {
    let folder = std::env::temp_dir().join(format!("stroma-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (counter, skid) = (designs::counter(), designs::skid(96));
    let made = archives(&[("first", &counter), ("second", &skid)], &folder).unwrap();
    assert_eq!(made.libraries, ["stroma_model_first", "stroma_model_second", "stroma_verilated"]);
    assert_eq!(std::fs::read_to_string(folder.join("first.v")).unwrap(), counter.text);

    std::fs::write(folder.join("main.cpp"), PROGRAM).unwrap();
    let api = concat!(env!("CARGO_MANIFEST_DIR"), "/src/shim");
    let mut compiler = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    compiler.current_dir(&folder).args([
        "-std=c++17",
        "-pthread",
        "-I",
        api,
        "main.cpp",
        "-o",
        "main",
        "-L.",
    ]);
    compiler.args(made.libraries.iter().map(|library| format!("-l{library}")));
    assert!(compiler.status().unwrap().success());
    let run = Command::new(folder.join("main")).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(run.status.success());
    let output = String::from_utf8(run.stdout).unwrap();
    assert_eq!(output, "6 ports, last is others\n8 ports, last is source$ready\n");
}

#[test]
fn a_name_that_c_cannot_spell_is_refused() {
    let counter = designs::counter();
    for name in ["100g", "card$100g", "card__100g", ""] {
        let refused = archives(&[(name, &counter)], &std::env::temp_dir());
        assert!(matches!(refused, Err(Error::Bundle { .. })), "{name}");
    }
}
