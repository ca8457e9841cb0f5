// Feeds arbitrary bytes to what reads property lists and the names in them. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, so that a run shows that failures are seen.

import CFuzzer
import CofferCore
import CofferPreferences
import CofferSlots
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  let text = String(decoding: bytes, as: UTF8.self)
  if let key = try? StoreKey(text) { check(key: key) }
  if let key = PreferenceName.key(of: text) {
    precondition(PreferenceName(key).string.utf8.elementsEqual(text.utf8), "a name was accepted that no key has")
  }
  check(file: bytes)
  return 0
}

private func check(key: StoreKey) {
  precondition(PreferenceName.key(of: PreferenceName(key).string) == key, "a key did not come back from its name")
  precondition(PreferenceName.escapedKey(of: PreferenceName.escaped(key)) == key, "nor from its escaped name")
}

/// What is accepted is written, and read again as the same.
private func check(file: Data) {
  let format = PropertyListFormat()
  guard let document = try? format.decode(file) else { return }
  precondition(!(isCanary && !document.values.isEmpty), "the canary: a failure must be seen")
  guard let written = try? format.encode(document) else { preconditionFailure("what was read could not be written") }
  guard let again = try? format.decode(written) else { preconditionFailure("what was written could not be read") }
  precondition(again.values.count == document.values.count, "a value was lost")
  for (key, value) in document.values {
    let same = again.values[key].map { "\($0)" } == "\(value)"  // Not-a-number is not equal to itself.
    precondition(same, "a value was changed")
    precondition(format.content(of: key, in: document) != nil, "a value had no bytes")
  }
  precondition("\(again.others)" == "\(document.others)", "what is not ours was changed")
}

@main enum FuzzPreferences {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
