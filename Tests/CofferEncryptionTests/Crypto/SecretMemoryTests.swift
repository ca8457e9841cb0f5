import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

#if os(Linux)
  /// The kernel's view of the memory of secrets.
  @Suite(.serialized) struct SecretMemoryTests {
    /// Returns the flags of the mapping that contains an address.
    private func flags(of address: UnsafeRawPointer) throws -> Set<Substring> {
      let number = UInt(bitPattern: address)
      var isFound = false
      let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps")).readToEnd()
      for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
        let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        if bounds.count == 2 { isFound = bounds[0] <= number && number < bounds[1] }
        if isFound, line.hasPrefix("VmFlags:") { return Set(line.dropFirst(8).split(separator: " ")) }
      }
      throw TestFailure("no mapping has this address")
    }

    @Test(
      "Secrets are locked and excluded from core dumps, from first to last byte", arguments: [1, 32, 4_096, 70_000])
    func lockedAndLeftOut(_ count: Int) throws {
      let secret = try SecretBytes(count: count) { $0.copyBytes(from: repeatElement(0xAB, count: count)) }
      try secret.withUnsafeBytes { bytes in
        let first = try #require(bytes.baseAddress)
        for address in [first, first + count - 1] {
          let flags = try flags(of: address)
          #expect(flags.contains("dd"), "\(flags)")
          // The sanitizer replaces mlock(2) with a function that does nothing.
          #expect(isThreadSanitized || flags.contains("lo") || SecretMemory.lastLockFailure != 0, "\(flags)")
        }
      }
    }

    @Test("A released secret is no longer at its address in memory")
    func wiped() throws {
      // Derived, so that the whole pattern exists nowhere else, this code included.
      let pattern = try randomBytes(48)
      let needle = Data(pattern.map { $0 ^ 0x5A })
      var slice: SecretSlice? = SecretSlice(copying: Data())
      try autoreleasing {
        let secret = try SecretBytes(count: 48) { bytes in
          for (index, byte) in pattern.enumerated() { bytes[index] = byte ^ 0x5A }
        }
        slice = SecretSlice(secret, 0..<48)
      }
      let address = slice?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } ?? 0
      slice = nil
      let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
      // The pages are unmapped, or were zeroed and mapped again.
      if lseek(memory.fileDescriptor, off_t(address), SEEK_SET) >= 0 {
        var left = [UInt8](repeating: 0, count: 48)
        let count = read(memory.fileDescriptor, &left, 48)
        #expect(count < 48 || Data(left) != needle)
      }
    }

    private func autoreleasing(_ body: () throws -> Void) throws { try body() }

    @Test("Locking succeeds or there is a limit, beyond which it fails")
    func limits() throws {
      #expect(SecretMemory.lockFailure(count: 1) == 0 || SecretMemory.lockLimit != nil)
      if let limit = SecretMemory.lockLimit, getuid() != 0 {
        #expect(SecretMemory.lockFailure(count: limit + 8_192) == ENOMEM)
      }
    }
  }
#endif
