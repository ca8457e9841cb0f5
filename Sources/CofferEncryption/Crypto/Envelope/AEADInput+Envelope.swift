import CofferCore
import Foundation

extension AEADInput {
  /// Calls `body` with the key and the associated data of one envelope, which are in one buffer. The key is overwritten
  /// afterwards.
  static func with<R>(
    _ header: UnsafeRawBufferPointer, _ algorithm: AEAD.Algorithm, _ dataKey: DataKey,
    _ context: EnvelopeContext, _ body: (AEADInput) throws -> R
  ) throws -> R {
    let label = KeyLabel.envelope.octets
    let derivation = header.part(0, EnvelopeHeader.derivationCount)
    let messageCount = label.count + derivation.count + 1
    let contextCount = context.encodedCount
    let associatedCount = header.count + contextCount
    let count = messageCount + associatedCount + AEAD.keyCount + AEAD.nonceCount
    return try withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
      let message = buffer.part(0, messageCount)
      message.copyBytes(from: label)
      message.part(label.count, derivation.count).copyMemory(from: derivation)
      message[messageCount - 1] = 1

      let associated = buffer.part(messageCount, associatedCount)
      associated.copyMemory(from: header)
      context.encode(to: associated.part(header.count, contextCount))

      let key = buffer.part(messageCount + associatedCount, AEAD.keyCount)
      let nonce = buffer.part(count - AEAD.nonceCount, AEAD.nonceCount)
      nonce.initializeMemory(as: UInt8.self, repeating: 0)
      defer { Cryptography.wipe(key) }
      try dataKey.expand(UnsafeRawBufferPointer(message), into: key)
      return try body(
        AEADInput(
          algorithm: algorithm, key: UnsafeRawBufferPointer(key), nonce: UnsafeRawBufferPointer(nonce),
          associatedData: UnsafeRawBufferPointer(associated)))
    }
  }
}
