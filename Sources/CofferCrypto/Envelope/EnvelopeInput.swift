import CofferCore
import Foundation

/// The key and the associated data of one envelope, in one buffer. Call `wipe` at the end.
struct EnvelopeInput {
  let input: AEADInput
  private let buffer: UnsafeMutableRawBufferPointer
  private let key: UnsafeMutableRawBufferPointer

  init(
    _ header: UnsafeRawBufferPointer, _ algorithm: AEAD.Algorithm, _ dataKey: borrowing DataKey,
    _ context: borrowing EnvelopeContext
  ) throws(StorageError) {
    let label = KeyLabel.envelope.octets
    let derivation = header.part(0, EnvelopeHeader.derivationCount)
    let messageCount = label.count + derivation.count + 1
    let contextCount = context.encodedCount
    let associatedCount = header.count + contextCount
    buffer = .allocate(byteCount: messageCount + associatedCount + AEAD.keyCount + AEAD.nonceCount, alignment: 1)

    let message = buffer.part(0, messageCount)
    message.copyBytes(from: label)
    message.part(label.count, derivation.count).copyMemory(from: derivation)
    message[messageCount - 1] = 1

    let associated = buffer.part(messageCount, associatedCount)
    associated.copyMemory(from: header)
    context.encode(to: associated.part(header.count, contextCount))

    key = buffer.part(messageCount + associatedCount, AEAD.keyCount)
    let nonce = buffer.part(buffer.count - AEAD.nonceCount, AEAD.nonceCount)
    nonce.initializeMemory(as: UInt8.self, repeating: 0)
    do { try dataKey.expand(UnsafeRawBufferPointer(message), into: key) } catch {
      buffer.deallocate()
      throw error
    }
    input = AEADInput(
      algorithm: algorithm, key: UnsafeRawBufferPointer(key), nonce: UnsafeRawBufferPointer(nonce),
      associatedData: UnsafeRawBufferPointer(associated))
  }

  /// Overwrites the key and frees the buffer.
  func wipe() {
    Cryptography.wipe(key)
    buffer.deallocate()
  }
}
