// Feeds arbitrary bytes to what reads sealed files: the header, and what is sealed. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, so that a run shows that failures are seen.

import CFuzzer
import CofferCore
import CofferCrypto
import CofferKeychain
import CofferSlots
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  if let header = try? SealedHeader(of: bytes) {
    precondition(header.bytes == bytes.prefix(header.size), "a header that was accepted is another one")
  }
  // What is sealed never comes from a stranger, but a slip of ours must not crash who opens it.
  if let items = try? SealedPayload.decode(SecretBytes(copying: bytes)) {
    precondition(!(isCanary && !items.isEmpty), "the canary: a failure must be seen")
    let encoded = try? SealedPayload.encode(items)
    precondition(encoded?.count == bytes.count, "values that were accepted have another size")
    precondition(
      encoded.flatMap { try? SealedPayload.decode($0) } == items, "values that were accepted did not come back")
  }
  return 0
}

@main enum FuzzSealed {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
