// Feeds arbitrary bytes to the decoders of rollback protection: the record of an anchor and that in the store. ./run
// fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferEncryption
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  guard let ring = try? KeyRing.create(settings: EncryptionSettings(), now: .now), let keys = try? RollbackKeys(ring)
  else { preconditionFailure("no keys could be created") }
  precondition((try? keys.number(in: bytes)) == nil, "a record was opened that nobody has sealed")
  // The checksum would stop nearly every input: it is corrected, as anybody can do.
  for bytes in [bytes, bytes + sha256(bytes)] {
    guard let record = try? AnchorRecord(bytes) else { continue }
    precondition(!isCanary, "the canary: a failure must be detected")
    precondition((try? AnchorRecord.isAuthentic(bytes, under: keys.anchor)) != true, "a forged record is authentic")
    let again = (try? record.encoded(under: keys.anchor)).flatMap { try? AnchorRecord($0) }
    precondition(again == record, "an accepted record was changed")
  }
  return 0
}

@main enum FuzzAnchor {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
