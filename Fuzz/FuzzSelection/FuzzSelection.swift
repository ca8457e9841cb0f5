// Feeds arbitrary bytes to the decoder of the journal's "changed" column. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  guard let selection = StoreSelection(decoding: bytes) else { return 0 }
  precondition(!(isCanary && selection.keys.count == 1), "the canary: a failure must be detected")
  // An accepted selection must survive encoding, in a form that is no longer than the input.
  let again = selection.encoded()
  let same = again.withUnsafeBytes { StoreSelection(decoding: $0) }
  precondition(same == selection, "a selection was changed by encoding")
  precondition(again.count <= count, "an accepted selection was encoded in a longer form")
  return 0
}

@main enum FuzzSelection {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
