// Feeds arbitrary bytes to the decoders of envelopes: header, padding and whole. ./run fuzz builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferEncryption
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil

/// The key and the context of the envelopes in the corpus, which `scripts/envelopes.py` wrote.
private let key = try? DataKey(SecretBytes(copying: Data(0..<32)))
/// Computed, since the leak sanitizer does not recognize the tagged pointers in a global one.
private var context: EnvelopeContext { EnvelopeContext(store: Data(16..<32), key: "user/token") }
private let corpusValue = Data("dark".utf8)

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  guard let key else { preconditionFailure("there is no key") }
  if let header = try? EnvelopeHeader(of: bytes) {
    precondition(
      SealedValue.isPresent(in: bytes) && bytes.count >= Envelope.overhead, "an envelope without a header")
    precondition(!(isCanary && header.isPadded), "the canary: a failure must be detected")
  }
  if let count = EnvelopePadding.count(in: bytes) {
    precondition(EnvelopePadding.bucket(of: count) == bytes.count, "padding of another size was accepted")
  }
  if let value = try? Envelope.open(bytes, context: context, key: { _ in key }) {
    precondition(value == corpusValue, "an envelope that nobody sealed was opened")
  }
  // The input as a value: it is sealed and opened, and with one bit changed it is refused.
  let way = bytes.first ?? 0
  let algorithm: AEAD.Algorithm = way & 1 == 0 ? .aes256GCM : .chaCha20Poly1305
  let sealed = try? Envelope.seal(bytes, under: key, context: context, algorithm: algorithm, isPadded: way & 2 == 0)
  guard var envelope = sealed else { preconditionFailure("a value was not sealed") }
  precondition((try? Envelope.open(envelope, context: context, key: { _ in key })) == bytes, "a value was changed")
  let position = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % (8 * envelope.count)
  envelope[position / 8] ^= 1 << (position % 8)
  precondition((try? Envelope.open(envelope, context: context, key: { _ in key })) == nil, "a changed bit was accepted")
  return 0
}

@main enum FuzzEnvelope {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
