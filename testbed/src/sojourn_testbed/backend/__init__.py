"""Where runs are carried out: in a guest under QEMU, or in namespaces of this machine. Both record the same files."""
