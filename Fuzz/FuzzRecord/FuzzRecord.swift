// Feeds arbitrary bytes to the decoder of the records of values in slots. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, so that a run shows that failures are seen.

import CFuzzer
import CofferSlots
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  if let record = SlotRecord(bytes) {
    precondition(!(isCanary && record.stamp == nil), "the canary: a failure must be seen")
    precondition(record.encoded.elementsEqual(bytes), "a record that was accepted is written as something else")
  }
  let text = String(decoding: bytes, as: UTF8.self)
  if let id = SlotID(text) { precondition(id.description == text, "an id that was accepted is written differently") }
  return 0
}

@main enum FuzzRecord {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
