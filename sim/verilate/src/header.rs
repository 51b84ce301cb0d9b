//! Reads back, from the C++ header Verilator wrote, which ports it found.
//!
//! A manifest that disagrees with its text would corrupt ports silently (a value of 7 bits in a port
//! of 5), so the two are compared port by port. The header also says how Verilator spelled each name
//! in C++ (`a$b` is `a__024b`, `a__b` is `a___05Fb`, `template` is `__SYM__template`), which saves us from
//! predicting it.

use crate::manifest::{Direction, Manifest};

/// A port as Verilator declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Member name in C++.
    pub(crate) cpp: String,
    name: String,
    is_input: bool,
    width: u32,
}

/// Reads lines such as `VL_INW(&sink__024payload,511,0,16);`.
fn declared(header: &str) -> Vec<Declared> {
    header.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Declared> {
    let (head, rest) = line.trim().strip_prefix("VL_")?.split_once("(&")?;
    let is_input = head.starts_with("IN");
    if !is_input && !head.starts_with("OUT") {
        return None;
    }
    let mut fields = rest.strip_suffix(");")?.split(',');
    let cpp = fields.next()?.to_owned();
    let high: u32 = fields.next()?.parse().ok()?;
    let low: u32 = fields.next()?.parse().ok()?;
    Some(Declared { name: decode(&cpp), cpp, is_input, width: high.abs_diff(low) + 1 })
}

/// Undoes Verilator's spelling: `__0HH` is the character with hexadecimal code HH.
fn decode(cpp: &str) -> String {
    let mut rest = cpp.strip_prefix("__SYM__").unwrap_or(cpp);
    let mut name = String::new();
    while let Some(at) = rest.find("__0") {
        let code = rest.get(at + 3..at + 5).and_then(|code| u8::from_str_radix(code, 16).ok());
        let (end, decoded) = match code {
            Some(code) => (at + 5, Some(char::from(code))),
            None => (at + 3, None),
        };
        name.push_str(if decoded.is_some() { &rest[..at] } else { &rest[..end] });
        name.extend(decoded);
        rest = &rest[end..];
    }
    name + rest
}

/// The declared ports in the order of the manifest, those of clock domains last, or what does not match.
pub(crate) fn matched(header: &str, manifest: &Manifest) -> Result<Vec<Declared>, Vec<String>> {
    let mut found = declared(header);
    let mut ports = Vec::new();
    let mut details = Vec::new();
    for port in manifest.ports.iter().chain(&manifest.domain_ports()) {
        let Some(at) = found.iter().position(|declared| declared.name == port.name) else {
            details.push(format!("`{}` is not a port of the text", port.name));
            continue;
        };
        let declared = found.swap_remove(at);
        if declared.width != port.width {
            details.push(format!("`{}` is {} bits wide, not {}", port.name, declared.width, port.width));
        }
        if declared.is_input != (port.direction != Direction::Out) {
            details.push(format!("`{}` does not point `{}`", port.name, port.direction));
        }
        ports.push(declared);
    }
    details.extend(found.iter().map(|extra| format!("`{}` is missing from the manifest", extra.name)));
    if details.is_empty() { Ok(ports) } else { Err(details) }
}

/// Names of the variables that the design keeps between evaluations, ports apart, as the class of its root declares them.
/// Verilator's own begin with `__V`.
pub(crate) fn variables(header: &str) -> impl Iterator<Item = &str> {
    const TYPES: [&str; 6] = ["CData", "SData", "IData", "QData", "VlWide<", "VlUnpacked<"];
    header.lines().filter_map(|line| {
        let line = line.trim();
        let is_data = TYPES.iter().any(|known| line.starts_with(known));
        let (_, name) = line.strip_suffix(';').filter(|_| is_data)?.rsplit_once(' ')?;
        (!name.starts_with("__V")).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_spelled_back() {
        let cases = [
            ("clock", "clock"),
            ("sink__024payload", "sink$payload"),
            ("z__024__024z", "z$$z"),
            ("a___05Fc", "a__c"),
            ("__SYM__template", "template"),
            ("odd__0", "odd__0"),
        ];
        for (cpp, verilog) in cases {
            assert_eq!(decode(cpp), verilog);
        }
    }

    #[test]
    fn each_kind_of_disagreement_is_reported() {
        let header = "VL_IN8(&a,4,0);\n    VL_OUTW(&b,64,0,3);\nVL_IN64(&extra,39,0);\nVL_IN(&c,31,0);";
        let manifest: Manifest = "top t\nin a 7\nin b 65\nin gone 1\nclock c 32".parse().unwrap();
        let details = matched(header, &manifest).unwrap_err();
        let expected = [
            "`a` is 5 bits wide, not 7",
            "`b` does not point `in`",
            "`gone` is not a port of the text",
            "`extra` is missing from the manifest",
        ];
        assert_eq!(details, expected);
    }
}
