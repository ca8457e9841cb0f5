// Feeds arbitrary bytes to what recognizes and decodes the data of other libraries: the forms of values, StoredObject,
// JSON, and property lists as XML and in binary. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import Coffer
import CofferCore
import CofferFiles
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  check(value: bytes)
  check(list: bytes)
  return 0
}

/// Checks that a value that is recognized can be imported.
private func check(value: Data) {
  let form = ForeignData.Encoding(recognizing: value)
  _ = ForeignData.Encoding(recognizing: value, isWhole: false)
  precondition(!(isCanary && form == .storedObject), "the canary: a failure must be detected")
  let object = try? Import.Encoding.storedObject.decode(value)
  precondition(form != .storedObject || object != nil, "a recognized StoredObject was not decoded")
  for encoding in Import.Encoding.allCases { _ = try? encoding.decode(value) }
}

/// Checks that an accepted property list has a value for each name.
private func check(list: Data) {
  guard let document = try? PropertyListFormat().decode(list) else { return }
  for (key, value) in document.values {
    precondition(PropertyListFormat().content(of: key, in: document)?.data == value.bytes, "a value has other bytes")
    if let data = value.data { check(value: data) }
  }
}

@main enum FuzzForeign {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
