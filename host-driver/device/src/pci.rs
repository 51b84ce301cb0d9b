//! What sysfs knows about a PCI device, and whether VFIO can have it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Advice, Error, Result};

/// Where the kernel lists PCI devices.
pub(crate) const DEVICES: &str = "/sys/bus/pci/devices";
const DRIVER: &str = "vfio-pci";

/// A device that VFIO can have.
#[derive(Debug)]
pub(crate) struct Device {
    /// Its folder in sysfs.
    pub(crate) path: PathBuf,
    /// NUMA node it sits on, where there is one.
    pub(crate) numa_node: Option<u32>,
}

impl Device {
    /// Looks `address` up below `devices`.
    ///
    /// # Errors
    /// When there is no such device, or it lacks an IOMMU group or the driver: each with what to do.
    pub(crate) fn find(devices: &Path, address: &str) -> Result<Self> {
        let path = devices.join(address);
        if address.is_empty() || address.contains('/') || !path.exists() {
            return Err(Error::NoDevice { path });
        }
        let setup = |operation, advice| Error::Setup { operation, device: address.into(), advice };
        if fs::read_link(path.join("iommu_group")).is_err() {
            return Err(setup("looking for the IOMMU group", Advice::Iommu));
        }
        let driver = fs::read_link(path.join("driver")).ok();
        if driver.as_deref().and_then(Path::file_name).is_none_or(|name| name != DRIVER) {
            return Err(setup("looking for the driver vfio-pci", Advice::Bind));
        }
        // -1 on machines with one node.
        let node = fs::read_to_string(path.join("numa_node")).ok();
        let numa_node = node.and_then(|text| text.trim().parse().ok());
        Ok(Self { path, numa_node })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    pub(crate) const ADDRESS: &str = "0000:41:00.0";

    /// A sysfs with one device.
    pub(crate) fn sysfs(group: Option<&str>, driver: Option<&str>, node: &str) -> TempDir {
        let root = TempDir::new().unwrap();
        let device = root.path().join(ADDRESS);
        fs::create_dir(&device).unwrap();
        fs::write(device.join("numa_node"), node).unwrap();
        for (name, target) in [("iommu_group", group), ("driver", driver)] {
            if let Some(target) = target {
                symlink(Path::new("../../somewhere").join(target), device.join(name)).unwrap();
            }
        }
        root
    }

    fn find(group: Option<&str>, driver: Option<&str>, node: &str) -> Result<Device> {
        Device::find(sysfs(group, driver, node).path(), ADDRESS)
    }

    #[test]
    fn a_bound_device_is_found_with_its_node() {
        assert_eq!(find(Some("7"), Some("vfio-pci"), "1\n").unwrap().numa_node, Some(1));
        assert_eq!(find(Some("7"), Some("vfio-pci"), "-1\n").unwrap().numa_node, None);
    }

    #[test]
    fn a_missing_device_is_named_with_the_form_of_addresses() {
        let root = sysfs(None, None, "0");
        for address in ["0000:42:00.0", "", "../0000:41:00.0"] {
            let refused = Device::find(root.path(), address).unwrap_err();
            assert!(matches!(refused, Error::NoDevice { .. }), "{address}: {refused}");
            assert!(refused.to_string().contains("lspci -D"), "{refused}");
        }
    }

    #[test]
    fn a_device_without_iommu_group_needs_an_iommu() {
        let refused = find(None, Some("vfio-pci"), "0").unwrap_err();
        assert!(matches!(refused, Error::Setup { advice: Advice::Iommu, .. }));
        assert!(refused.to_string().contains("intel_iommu=on"), "{refused}");
    }

    #[test]
    fn a_device_with_another_driver_or_none_needs_vfio_pci() {
        for driver in [None, Some("xdma")] {
            let refused = find(Some("7"), driver, "0").unwrap_err();
            assert!(matches!(refused, Error::Setup { advice: Advice::Bind, .. }));
            assert!(refused.to_string().contains("bind the device to vfio-pci"), "{refused}");
            assert!(refused.to_string().contains(ADDRESS), "{refused}");
        }
    }
}
