// Feeds arbitrary bytes to the decoder of file names. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferFiles
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  check(name: text)
  if let key = try? KeyName(text) { check(key: key) }
  return 0
}

/// Checks the text as a file name found in the directory.
private func check(name: String) {
  let isHashed = FileName.isHashed(name)
  guard let key = FileName.key(of: name) else { return }
  precondition(!(isCanary && key.string.utf8.contains(UInt8(ascii: "Q"))), "the canary: a failure must be detected")
  precondition(!isHashed, "a name was accepted both as that of a key and as a hash")
  precondition(FileName(key).string == name, "a name that was accepted is not the name of its key")
}

/// Checks the text as a key to store.
private func check(key: KeyName) {
  let name = FileName(key)
  precondition(name.string.utf8.count <= 255, "a name was too long")
  precondition(FileName.isHashed(name.string) == name.isHashed, "a hashed name was not recognized")
  precondition(FileName.key(of: name.string) == (name.isHashed ? nil : key), "a key was not decoded from its name")
}

@main enum FuzzFileName {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
