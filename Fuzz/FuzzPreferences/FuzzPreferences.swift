// Feeds arbitrary bytes to the decoders of property lists and of the names in them. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferFiles
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  let text = String(decoding: bytes, as: UTF8.self)
  if let key = try? KeyName(text) { check(key: key) }
  if let key = PreferenceName.key(of: text) {
    precondition(PreferenceName(key).string.utf8.elementsEqual(text.utf8), "an accepted name is not that of its key")
  }
  check(file: bytes)
  return 0
}

private func check(key: KeyName) {
  precondition(PreferenceName.key(of: PreferenceName(key).string) == key, "a key was not decoded from its name")
  precondition(PreferenceName.escapedKey(of: PreferenceName.escaped(key)) == key, "an escaped name was not decoded")
}

/// Checks that an accepted file can be encoded and decoded to the same values.
private func check(file: Data) {
  let format = PropertyListFormat()
  guard let document = try? format.decode(file) else { return }
  precondition(!(isCanary && !document.values.isEmpty), "the canary: a failure must be detected")
  guard let written = try? format.encode(document) else { preconditionFailure("a decoded file could not be encoded") }
  guard let again = try? format.decode(written) else { preconditionFailure("an encoded file could not be decoded") }
  precondition(again.values.count == document.values.count, "a value was lost")
  for (key, value) in document.values {
    let same = again.values[key].map { "\($0)" } == "\(value)"  // Not-a-number is not equal to itself.
    precondition(same, "a value was changed")
    precondition(format.content(of: key, in: document) != nil, "a value had no bytes")
  }
  precondition("\(again.others)" == "\(document.others)", "an unrelated entry was changed")
}

@main enum FuzzPreferences {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
