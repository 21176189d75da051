#!/usr/bin/env python3
"""Compares the arguments and results of libssl's functions in crates/openssl with those of OpenSSL's ssl.h: pointers, and
the sizes of numbers. Functions that ignore their arguments, and those that a macro makes, are not compared.
usage: tools/libssl-signatures.py [--getters]      in the folder of the workspace
--getters prints the calls of tests/same/getters.c instead: functions of one object that do as much as OpenSSL's."""

import pathlib
import re
import subprocess
import sys

header = subprocess.run(["cc", "-E", "-P", "-include", "openssl/ssl.h", "-x", "c", "/dev/null"],
                        capture_output=True, text=True, check=True).stdout
header = re.sub(r"\s+", " ", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", header))
sources = "".join(path.read_text() for path in pathlib.Path("crates/openssl/src").rglob("*.rs"))
sources = re.sub(r"//.*", "", sources)
names = re.findall(r"^        (\w+);", pathlib.Path("crates/openssl/libssl.map").read_text(), re.M)

function_types = set()
for declaration in header.split(";"):
    found = re.match(r" ?typedef [^({]*(?:\( ?\* ?(\w+)\)|\b(\w+)) ?\(", declaration)
    if found:
        function_types.add(found[1] or found[2])
function_types -= {"int", "void", "char", "long", "unsigned", "size_t"}

declarations = {}
for declaration in header.split(";"):
    for name in re.findall(r"\b(\w+) ?\(", declaration):
        if not declaration.lstrip().startswith("typedef"):
            declarations.setdefault(name, declaration)


def split(text):
    parts, depth = [""], 0
    for letter in text:
        depth += letter in "(<["
        depth -= letter in ")>]"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def of_c(text):
    """A letter or a size for a type of C, with or without a name."""
    words = re.findall(r"\w+", text)
    if "*" in text or "[" in text or function_types & set(words):
        return "pointer"
    if {"uint64_t", "size_t", "ssize_t", "long", "time_t", "off_t"} & set(words):
        return 8
    if {"char", "uint8_t"} & set(words):
        return 1
    if {"short", "uint16_t"} & set(words):
        return 2
    return None if "void" in words else 4


SIZES = {"c_long": 8, "c_ulong": 8, "u64": 8, "i64": 8, "usize": 8, "isize": 8, "time_t": 8, "u8": 1, "c_uchar": 1,
         "c_char": 1, "u16": 2, "u32": 4, "c_int": 4, "c_uint": 4, "()": None}


def of_rust(text):
    return SIZES.get(text.split(":", 1)[-1].strip(), "pointer")


own = {}
for name, first, rest, result in re.findall(
        r"\bfn (\w+)\(([^{;]*?;)?([^{}]*?)\)\s*->\s*([^={]+?)\s*=\s", sources):
    own[name] = ([of_rust(each) for each in split(first.rstrip(";")) + split(rest)], of_rust(result))

if "--getters" in sys.argv:
    rows = pathlib.Path("crates/openssl/tests/stubs.h").read_text()
    left_out = set(re.findall(r"^(?:REFUSED|FAILING|OTHER)\((\w+)", rows, re.M))
    left_out |= {"DTLS_get_data_mtu", "SSL_SESSION_get_time"}
    objects = {"SSL_CTX": "ctx", "SSL": "ssl", "SSL_SESSION": "session", "SSL_CIPHER": "cipher"}
    for name in names:
        found = re.search(r"([^;{}]*)\b%s ?\( ?(?:const )?(\w+) ?\*\w*\)$" % name, declarations.get(name, ""))
        if found and found[2] in objects and not name.endswith(("_free", "_ref")) and name not in left_out:
            kind = "TEXT" if "char" in found[1] else "POINTER" if "*" in found[1] else \
                "NUMBER" if of_c(found[1]) else "NOTHING"
            print(f"{kind}({name}, {objects[found[2]]})")
    sys.exit()

compared = 0
wrong = []
for name in names:
    declared = declarations.get(name)
    if name not in own or declared is None:
        continue
    place = re.search(r"\b%s ?\(" % name, declared)
    end, depth = place.end(), 1
    while depth:
        depth += (declared[end] == "(") - (declared[end] == ")")
        end += 1
    arguments = [of_c(each) for each in split(declared[place.end():end - 1])]
    theirs = ([each for each in arguments if each is not None], of_c(declared[:place.start()]))
    compared += 1
    if own[name] != theirs:
        wrong.append(f"{name}: {own[name]}, ssl.h: {theirs}")
print("\n".join(wrong + [f"{compared} functions compared"]))
sys.exit(bool(wrong) or compared < 300)
