//! From Debian's kernel package to what the emulator and the guest need: `vmlinux`, which boots in a fifth of the time that the
//! compressed image takes under emulation, and the modules, in the order in which they can be loaded.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Modules that a guest loads, and what they depend on.
pub(crate) struct Modules {
    /// The file that says in which order they can be loaded.
    pub(crate) order: &'static str,
    names: &'static [&'static str],
}

/// Of the guest at the other end of the wire: its network card, the CRC behind ICRC, Soft-RoCE and verbs.
pub(crate) const WIRE: Modules = Modules {
    order: "order-wire",
    names: &["virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs"],
};
/// Of the guest that has a card.
pub(crate) const DEVICE: Modules =
    Modules { order: "order-device", names: &["vfio", "vfio_iommu_type1", "vfio_pci"] };
const ALL: [Modules; 2] = [WIRE, DEVICE];

/// The names of all modules that guests load: who unpacked others unpacks again.
pub(crate) fn wanted() -> Vec<&'static str> {
    ALL.iter().flat_map(|modules| modules.names).copied().collect()
}

/// Places in a kernel image, from Linux's boot protocol: sectors before the payload's part, its offset there, its length.
const SETUP_SECTORS_AT: usize = 0x1f1;
const PAYLOAD_OFFSET_AT: usize = 0x248;
const PAYLOAD_LENGTH_AT: usize = 0x24c;
const SECTOR: usize = 512;

/// The uncompressed kernel, inside the folder of unpacked packages.
pub(crate) fn vmlinux(folder: &Path) -> PathBuf {
    folder.join("vmlinux")
}

/// The modules, and the lists of their orders, there.
pub(crate) fn modules(folder: &Path) -> PathBuf {
    folder.join("modules")
}

/// Makes `vmlinux` and the modules' folder, and removes the several hundred megabytes that they were taken from.
pub(crate) fn prepare(root: &Path, folder: &Path) -> Result<()> {
    let image = only(&root.join("boot"), "vmlinuz-")?;
    let bytes = fs::read(&image).with_context(|| format!("read {}", image.display()))?;
    let kernel =
        decompress(payload(&bytes).with_context(|| format!("{} is no kernel image", image.display()))?)?;
    ensure!(kernel.starts_with(b"\x7fELF"), "{} holds something else than an ELF file", image.display());
    fs::write(vmlinux(folder), kernel).context("write vmlinux")?;

    let tree = only(&root.join("lib/modules"), "")?;
    let mut paths = BTreeMap::new();
    find_modules(&tree, &mut paths)?;
    let target = modules(folder);
    fs::create_dir_all(&target).with_context(|| format!("create {}", target.display()))?;
    for modules in &ALL {
        let mut order = Vec::new();
        for name in modules.names {
            take(name, &paths, &target, &mut order)?;
        }
        let list: Vec<String> = order.iter().map(|name| format!("{name}.ko")).collect();
        fs::write(target.join(modules.order), list.join("\n") + "\n").context("write the modules' order")?;
    }
    crate::setup::remove(&root.join("lib/modules"))?;
    crate::setup::remove(&root.join("boot"))
}

/// The one entry of a folder whose name begins so.
fn only(folder: &Path, beginning: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let begins =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning));
    let found: Vec<PathBuf> = paths.filter(begins).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        _ => bail!("{} holds {} entries `{beginning}*`, expected one", folder.display(), found.len()),
    }
}

/// The compressed kernel inside an image.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let start = (usize::from(*image.get(SETUP_SECTORS_AT)?) + 1) * SECTOR + number(PAYLOAD_OFFSET_AT)?;
    image.get(start..start + number(PAYLOAD_LENGTH_AT)?)
}

/// Bytes that may be compressed, as they were before.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    // Behind the compressed kernel stands its length, which is none of the program's business.
    let command = match bytes {
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            let mut xz = Command::new("xz");
            xz.args(["--decompress", "--stdout", "--single-stream"]);
            xz
        }
        _ if bytes.starts_with(b"\x7fELF") => return Ok(bytes.to_vec()),
        _ => bail!("compressed in a way that is not known: {:02x?}", &bytes[..bytes.len().min(6)]),
    };
    pipe(command, bytes)
}

fn pipe(mut command: Command, bytes: &[u8]) -> Result<Vec<u8>> {
    let line = crate::process::line(&command);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("start {line}"))?;
    let mut input = child.stdin.take().with_context(|| format!("{line} takes no input"))?;
    // Both directions at once: neither pipe holds a kernel.
    let output = std::thread::scope(|scope| {
        // What it has no use for it does not take; its status tells whether that is an error.
        scope.spawn(move || drop(input.write_all(bytes)));
        child.wait_with_output()
    });
    let output = output.with_context(|| format!("wait for {line}"))?;
    ensure!(output.status.success(), "{line} ended with {}", output.status);
    Ok(output.stdout)
}

/// Every module by its name; in file names some write `-` for `_`.
fn find_modules(folder: &Path, paths: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        if path.is_dir() && !path.is_symlink() {
            find_modules(&path, paths)?;
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((name, "" | ".xz")) = name.split_once(".ko") {
            paths.insert(name.replace('-', "_"), path);
        }
    }
    Ok(())
}

/// Copies a module, after those that it depends on. depmod's list is made when a kernel is installed; this one was not, but
/// every module says it itself.
fn take(name: &str, paths: &BTreeMap<String, PathBuf>, target: &Path, order: &mut Vec<String>) -> Result<()> {
    if order.iter().any(|taken| taken == name) {
        return Ok(());
    }
    let path = paths.get(name).with_context(|| format!("the kernel package has no module {name}"))?;
    let bytes = decompress(&fs::read(path).with_context(|| format!("read {}", path.display()))?)?;
    for needed in dependencies(&bytes) {
        take(&needed, paths, target, order)?;
    }
    fs::write(target.join(format!("{name}.ko")), bytes).with_context(|| format!("write module {name}"))?;
    order.push(name.to_string());
    Ok(())
}

/// What the text `depends=A,B` in a module's section `.modinfo` names.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else { return Vec::new() };
    let rest = &module[at + KEY.len()..];
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..end]).replace('-', "_");
    text.split(',').filter(|name| !name.is_empty()).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_tells_what_it_depends_on() {
        let module = b"\x7fELF...\0license=GPL\0depends=ib_core,udp-tunnel\0retpoline=Y\0";
        assert_eq!(dependencies(module), ["ib_core", "udp_tunnel"]);
        assert!(dependencies(b"\x7fELF...\0license=GPL\0depends=\0name=x\0").is_empty());
        assert!(dependencies(b"depends=").is_empty());
    }

    #[test]
    fn the_payload_of_an_image_is_where_its_header_says() {
        let mut image = vec![0; 4096];
        image[SETUP_SECTORS_AT] = 2;
        image[PAYLOAD_OFFSET_AT] = 100;
        image[PAYLOAD_LENGTH_AT] = 5;
        image[3 * 512 + 100..][..5].copy_from_slice(b"Linux");
        assert_eq!(payload(&image), Some(&b"Linux"[..]));
        image[PAYLOAD_LENGTH_AT + 3] = 1;
        assert_eq!(payload(&image), None, "longer than the image");
        assert_eq!(payload(&image[..100]), None);
    }
}
