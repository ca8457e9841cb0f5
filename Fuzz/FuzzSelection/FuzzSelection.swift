// Feeds arbitrary bytes to the decoder of the journal's "changed" column. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, so that a run shows that failures are seen.

import CFuzzer
import CofferCore
import CofferSQLite
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  guard let selection = StoreSelection(decoding: bytes) else { return 0 }
  precondition(!(isCanary && selection.keys.count == 1), "the canary: a failure must be seen")
  // What is accepted is written back as it would be written in the first place, and read again as the same.
  let again = selection.encoded()
  let same = again.withUnsafeBytes { StoreSelection(decoding: $0) }
  precondition(same == selection, "a selection changed when it was written and read")
  precondition(again.count <= count, "what was accepted was shorter than what is written for it")
  return 0
}

@main enum FuzzSelection {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
