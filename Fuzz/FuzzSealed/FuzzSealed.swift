// Feeds arbitrary bytes to the decoders of sealed files: the header and the payload. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferEncryption
import CofferFiles
import CofferSecrets
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  if let header = try? SealedHeader(of: bytes) {
    precondition(header.bytes == bytes.prefix(SealedHeader.size), "an accepted header was changed")
  }
  // The payload is authenticated, but a defect in its encoder must not crash the decoder.
  if var items = try? SealedPayload.decode(SecretBytes(copying: bytes)) {
    precondition(!(isCanary && items.count > 0), "the canary: a failure must be detected")
    let encoded = try? SealedPayload.encode(&items)
    precondition(encoded?.count == bytes.count, "accepted values were encoded with another size")
    precondition(
      encoded.flatMap { try? SealedPayload.decode($0) } == items, "accepted values were changed")
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
