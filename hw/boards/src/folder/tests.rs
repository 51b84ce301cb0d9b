use super::*;

const SHELL: &str = "module reg_1 (\n    input logic d\n);\nendmodule\n\nmodule stroma_shell (\n    input logic clock\n);\n    logic reg_1$d;\n    reg_1 reg_1 (\n        .d(reg_1$d)\n    );\n    assign reg_1$d = clock;\nendmodule\n";

#[test]
fn modules_of_the_shell_get_names_of_their_own() {
    let text = prefixed(SHELL, "shell_", "stroma_shell");
    let names: Vec<&str> = modules(&text).into_iter().collect();
    assert_eq!(names, ["shell_reg_1", "stroma_shell"]);
    assert!(text.contains("\n    shell_reg_1 reg_1 (\n"), "{text}");
    assert!(
        text.contains("\n    logic reg_1$d;\n") && text.contains("\n    assign reg_1$d = clock;\n"),
        "{text}"
    );
}
