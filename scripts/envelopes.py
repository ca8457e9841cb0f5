#!/usr/bin/env python3
"""Seals values in envelopes as docs/formats/envelope.md describes them, without any code of Coffer.

usage: pip install cryptography
       scripts/envelopes.py

It writes the files of Tests/CofferEncryptionTests/Crypto/Golden and Tests/CofferTests/Golden, a key ring with a label, as
docs/formats/keyring.md describes it, in Tests/CofferEncryptionTests/Golden, and the inputs of the fuzzer. They are
committed and never change: tests open these envelopes for ever. The script is the second implementation of the format,
and its salts are not random, so that it always writes the same bytes.
"""
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "Tests/CofferEncryptionTests/Crypto/Golden"
KEY_RINGS = ROOT / "Tests/CofferEncryptionTests/Golden"
CORPUS = ROOT / "Fuzz/Corpus/envelope"
MAGIC = b"\xffCENV"
ALGORITHMS = {1: AESGCM, 2: ChaCha20Poly1305}
PADDED = 1


def authenticate(key, label, message=b""):
    assert len(label) == 16
    return hmac.new(key, label + message, hashlib.sha256).digest()


def key_id(key):
    return authenticate(key, b"coffer key id v1")


def derived_key(key, purpose):
    return authenticate(key, b"coffer purpose 1", purpose + b"\x01")


def keyed_hash(key, message):
    return authenticate(key, b"coffer hash v1.0", message)


def bucket(count):
    """The size of the bucket of a value: 64 bytes, or that of Padmé for the value and the mark."""
    needed = count + 1
    if needed <= 64:
        return 64
    exponent = needed.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())
    return -(-needed // step) * step


def field(content):
    return len(content).to_bytes(4, "big") + content


def associated_data(header, case):
    data = header + bytes([case["format"]])
    for name in ["store", "key", "attributes"]:
        data += field(bytes.fromhex(case[name]))
    return data


def seal(value, key, salt, case):
    header = MAGIC + bytes([1, case["algorithm"], case["flags"]]) + salt + key_id(key)
    assert len(header) == 64
    if case["flags"] & PADDED:
        value += b"\x80" + bytes(bucket(len(value)) - len(value) - 1)
    cipher = ALGORITHMS[case["algorithm"]](authenticate(key, b"coffer envelope1", header[:32] + b"\x01"))
    return header + cipher.encrypt(bytes(12), value, associated_data(header, case))


def envelopes():
    """Writes envelopes of all algorithms, flags, sizes and circumstances."""
    key = bytes(range(32))
    store = bytes(range(16, 32))
    values = [b"", b"dark", bytes(range(63)), bytes(range(64)), bytes(number % 251 for number in range(1000))]
    contexts = [
        ("user/token", b"", 0),
        ("théme/🌗", bytes([200, 4, 0]) + b"blue", 255),
        ("k" * 1024, bytes([128, 8, 0]) + bytes(range(8)), 1),
    ]
    lines = []
    for number, (algorithm, flags, value, (name, attributes, form)) in enumerate(
            (a, f, v, c) for a in ALGORITHMS for f in [0, PADDED] for v in values for c in contexts):
        case = {"algorithm": algorithm, "flags": flags, "store": store.hex(), "key": name.encode().hex(),
                "attributes": attributes.hex(), "format": form, "value": value.hex()}
        salt = hashlib.sha256(b"salt %d" % number).digest()[:24]
        envelope = seal(value, key, salt, case)
        lines.append("  " + json.dumps(dict(case, envelope=envelope.hex())))
        if (name, value) == ("user/token", b"dark"):
            (CORPUS / f"{algorithm}-{flags}").write_bytes(envelope)
    hashes = {"dataKey": key.hex(), "keyID": key_id(key).hex(), "purpose": "names",
              "derivedKey": derived_key(key, b"names").hex(), "message": "user/token",
              "keyedHash": keyed_hash(key, b"user/token").hex()}
    text = json.dumps(hashes, indent=0)[:-2] + ',\n"envelopes": [\n' + ",\n".join(lines) + "\n]\n}\n"
    (GOLDEN / "envelope-1.json").write_text(text)


def key_ring():
    """Writes the key ring of a store with a label."""
    material, label = b"golden key material, 32 bytes or more", "sqlite:café.db".encode()
    salt, key = bytes(range(64, 96)), bytes(range(32))
    # HKDF-SHA-256: extraction with the salt, and one block of the expansion.
    root = hmac.new(hmac.new(salt, material, hashlib.sha256).digest(), b"coffer root key\x01", hashlib.sha256).digest()
    created = (1_800_000_000_000).to_bytes(8, "big")
    body = bytes([1, 0, 0, 0]) + bytes(range(96, 128)) + (1).to_bytes(4, "big")
    body += bytes([1]) + created + bytes(8) + bytes(8) + key + label
    header = b"COFFRING" + bytes([1, 1, 0, 0]) + bytes(8) + salt + key_id(root) + bytes(range(128, 144))
    header += (1).to_bytes(8, "big") + (len(body) + 28).to_bytes(4, "big")
    assert len(header) == 112
    nonce = hashlib.sha256(b"nonce").digest()[:12]
    record = header + nonce + AESGCM(derived_key(root, b"key ring")).encrypt(nonce, body, header)
    record += hashlib.sha256(record).digest()
    (KEY_RINGS / "format-1-labelled.keyring").write_bytes(record)


def multiply(left, right):
    """The product in the field of GCM (NIST SP 800-38D, 6.3)."""
    product = 0
    for bit in range(127, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (0xE1 << 120 if right & 1 else 0)
    return product


def inverse(number):
    """The number to the power of 2^128 - 2, bit by bit."""
    result = 1 << 127
    for _ in range(127):
        number = multiply(number, number)
        result = multiply(result, number)
    return result


def ghash(h, data):
    total = 0
    for start in range(0, len(data), 16):
        total = multiply(total ^ int.from_bytes(data[start:start + 16].ljust(16, b"\0"), "big"), h)
    return total


def encrypt_block(key, block):
    return int.from_bytes(Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block), "big")


def two_keys():
    """Writes an envelope whose ciphertext AES-256-GCM opens with the keys of two data keys: one block of ciphertext is
    the solution of the linear equation that makes both tags equal."""
    keys = [bytes(range(32)), bytes(range(32, 64))]
    case = {"algorithm": 1, "flags": 0, "store": bytes(range(16, 32)).hex(), "key": b"user/token".hex(),
            "attributes": "", "format": 0}
    header = MAGIC + bytes([1, 1, 0]) + hashlib.sha256(b"two keys").digest()[:24] + key_id(keys[0])
    data = associated_data(header, case)
    derived = [authenticate(key, b"coffer envelope1", header[:32] + b"\x01") for key in keys]
    padded = data.ljust(-(-len(data) // 16) * 16, b"\0")
    sizes = (8 * len(data)).to_bytes(8, "big") + (128).to_bytes(8, "big")
    hashes = [encrypt_block(key, bytes(16)) for key in derived]
    rests = [ghash(h, padded + bytes(16) + sizes) ^ encrypt_block(key, bytes(15) + b"\1")
             for h, key in zip(hashes, derived)]
    squares = [multiply(h, h) for h in hashes]
    block = multiply(rests[0] ^ rests[1], inverse(squares[0] ^ squares[1]))
    tag = rests[0] ^ multiply(block, squares[0])
    sealed = block.to_bytes(16, "big") + tag.to_bytes(16, "big")
    values = [AESGCM(key).decrypt(bytes(12), sealed, data) for key in derived]
    assert values[0] != values[1]
    case.update(dataKeys=[key.hex() for key in keys], derivedKeys=[key.hex() for key in derived],
                associatedData=data.hex(), values=[value.hex() for value in values], envelope=(header + sealed).hex())
    (GOLDEN / "two-keys.json").write_text(json.dumps(case, indent=1) + "\n")


GOLDEN.mkdir(exist_ok=True)
CORPUS.mkdir(exist_ok=True)
envelopes()
two_keys()
key_ring()
