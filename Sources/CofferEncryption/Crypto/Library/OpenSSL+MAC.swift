import CofferCOpenSSL
import CofferCore
import Foundation

extension OpenSSL {
  /// HMAC-SHA-256 (RFC 2104) as two states of SHA-256 that have read the key already, in locked memory.
  ///
  /// OpenSSL's own HMAC keeps the key and the states in ordinary memory, where a core dump contains them.
  final class PreparedMAC: KeyedMAC {
    private static let (blockCount, codeCount) = (64, 32)
    private static let stateCount = MemoryLayout<SHA256_CTX>.size

    // Written only by init and wiped only by deinit, when there is no other reference to the object.
    private nonisolated(unsafe) let pages: SecretPages

    init(key: UnsafeRawBufferPointer) throws(StorageError) {
      pages = SecretPages(count: 2 * Self.stateCount + Self.blockCount)
      let block = pages.bytes.part(2 * Self.stateCount, Self.blockCount)
      if key.count > Self.blockCount {
        try OpenSSL.digest(key, into: block.part(0, Self.codeCount))
      } else {
        block.copyMemory(from: key)
      }
      var isDone = true
      for (index, pad) in [UInt8(0x36), 0x5C].enumerated() {
        for position in block.indices { block[position] ^= pad }
        let state = Self.state(in: pages.bytes.part(index * Self.stateCount, Self.stateCount))
        isDone = isDone && SHA256_Init(state) == 1 && SHA256_Update(state, block.baseAddress, block.count) == 1
        for position in block.indices { block[position] ^= pad }
      }
      OpenSSL.wipe(block)
      OpenSSL.wipeRegisters()
      guard isDone else { throw OpenSSL.failure("it rejected the key of an authentication code") }
    }

    deinit {
      pages.wipe()
      pages.free()
    }

    func authenticate(
      _ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer
    ) throws(StorageError) {
      let size = Self.stateCount + Self.codeCount
      // The states are copied, so that threads need no lock, and the copies are wiped.
      let isDone = withUnsafeTemporaryAllocation(
        byteCount: size, alignment: MemoryLayout<SHA256_CTX>.alignment
      ) { scratch in
        defer { OpenSSL.wipe(scratch) }
        let (memory, inner) = (scratch.part(0, Self.stateCount), scratch.part(Self.stateCount, Self.codeCount))
        let state = Self.state(in: memory)
        memory.copyMemory(from: UnsafeRawBufferPointer(pages.bytes.part(0, Self.stateCount)))
        guard SHA256_Update(state, message.baseAddress, message.count) == 1, SHA256_Final(inner.octets, state) == 1
        else { return false }
        memory.copyMemory(from: UnsafeRawBufferPointer(pages.bytes.part(Self.stateCount, Self.stateCount)))
        return SHA256_Update(state, inner.baseAddress, inner.count) == 1 && SHA256_Final(code.octets, state) == 1
      }
      withExtendedLifetime(self) {}
      guard isDone else { throw OpenSSL.failure("it could not compute an authentication code") }
    }

    private static func state(in memory: UnsafeMutableRawBufferPointer) -> UnsafeMutablePointer<SHA256_CTX>? {
      memory.bindMemory(to: SHA256_CTX.self).baseAddress
    }
  }
}
