// Feeds arbitrary bytes to the decoders of key rings: the record and the body. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferEncryption
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil
// Nothing is kept between two inputs: the leak detector does not recognize the addresses in a `Data`.
private func makeRoot() throws -> RootKey {
  let derivation = RootKeyDerivation(.keyMaterial, salt: Data(count: 32))
  return try RootKey(from: SecretBytes(copying: Data(0..<32)), derivation)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  guard let root = try? makeRoot(), let ring = try? KeyRing.create(settings: EncryptionSettings(), now: .now),
    let header = try? KeyRingHeader(of: ring.sealed(under: root))
  else { preconditionFailure("no ring could be created") }
  // The checksum would stop nearly every input: it is corrected, as anybody can do.
  let record = bytes + sha256(bytes)
  for record in [bytes, record] where (try? KeyRingHeader(of: record)) != nil {
    precondition((try? KeyRing.open(record, root: root)) == nil, "a ring was opened that nobody has sealed")
  }
  // The body is authenticated, but a defect in its encoder must not crash the decoder.
  if let ring = try? KeyRing(SecretBytes(copying: bytes), header) {
    precondition(!isCanary, "the canary: a failure must be detected")
    let again = (try? ring.sealed(under: root)).flatMap { try? KeyRing.open($0, root: root) }
    precondition(again?.entries == ring.entries && again?.settings == ring.settings, "an accepted body was changed")
  }
  return 0
}

@main enum FuzzKeyRing {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
