"""Keeps denormals alive in XLA's CPU client, which flushes them to zero while it executes.

The client switches the processor's flags by an object that lives as long as the execution,
tsl::port::ScopedFlushDenormal; no option turns that off. keep_denormals() makes the constructor of
that class jump to the one of ScopedDontFlushDenormal, in this process only.
"""
import ctypes
import mmap
import os
import struct
import sys

import jaxlib

LIBRARY = "libjax_common.so"
FLUSH = b"_ZN3tsl4port19ScopedFlushDenormalC1Ev"
KEEP = b"_ZN3tsl4port23ScopedDontFlushDenormalC1Ev"
PAGE = 4096
READ_EXECUTE, READ_WRITE_EXECUTE = 5, 7


def symbol_addresses(path, wanted):
    """Addresses of symbols in the full symbol table of an ELF file, before it is loaded."""
    found = {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        table, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
        symbols = next(section for section in sections if section[1] == 2)
        names = sections[symbols[6]]
        offsets = {}
        for name in wanted:
            at = data.find(b"\0" + name + b"\0", names[4], names[4] + names[5])
            if at >= 0:
                offsets[at + 1 - names[4]] = name
        view = memoryview(data)[symbols[4]:symbols[4] + symbols[5] // 24 * 24]
        for name, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", view):
            if name in offsets:
                found[offsets[name]] = value
        view.release()
    return found


def load_address(library):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            fields = line.split()
            if line.rstrip().endswith(library) and int(fields[2], 16) == 0:
                return int(fields[0].split("-")[0], 16)
    return None


def keep_denormals():
    """Whether it worked: with another build of jaxlib, or not on Linux on x86-64, it does not."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    try:
        addresses = symbol_addresses(
            os.path.join(os.path.dirname(jaxlib.__file__), LIBRARY), (FLUSH, KEEP))
    except (OSError, ValueError, StopIteration, struct.error):
        return False
    base = load_address(LIBRARY)
    if base is None or len(addresses) < 2:
        return False
    source, target = base + addresses[FLUSH], base + addresses[KEEP]
    start = source // PAGE * PAGE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(start, 2 * PAGE, READ_WRITE_EXECUTE) != 0:
        return False
    ctypes.memmove(source, b"\xe9" + struct.pack("<i", target - source - 5), 5)  # jmp
    return protect(start, 2 * PAGE, READ_EXECUTE) == 0
