// Feeds arbitrary bytes to the decoder of slot records. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferFiles
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  if let record = SlotRecord(bytes) {
    precondition(!(isCanary && record.stamp == nil), "the canary: a failure must be detected")
    precondition(record.encoded.elementsEqual(bytes), "an accepted record was encoded differently")
  }
  let text = String(decoding: bytes, as: UTF8.self)
  if let id = SlotID(text) { precondition(id.description == text, "an accepted identifier was encoded differently") }
  return 0
}

@main enum FuzzRecord {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
