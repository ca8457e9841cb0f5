import CofferCore
import CofferEncryption
import Foundation
import Testing

struct SecretBytesTests {
  private struct Stop: Error {}
  private let seen = Locked<[UInt8]?>(nil)

  /// Creates a secret of 100 bytes, and records its memory after it was wiped.
  private func secret(butThrow: Bool = false) throws -> SecretBytes {
    let seen = seen
    return try SecretBytes(
      count: 100, whenWiped: { bytes in seen.withLock { $0 = Array(bytes) } },
      fill: { bytes in
        bytes.copyBytes(from: repeatElement(0xAB, count: 100))
        if butThrow { throw Stop() }
      })
  }

  @Test func wipedWhenTheLastHolderLetsGo() throws {
    var first: SecretBytes? = try secret()
    var second = first
    first = nil
    #expect(seen.withLock { $0 } == nil)
    #expect(second?.data == Data(repeating: 0xAB, count: 100))
    second = nil
    #expect(seen.withLock { $0 } == [UInt8](repeating: 0, count: 100))
    _ = (first, second)
  }

  @Test func wipedWhenItCouldNotBeMade() throws {
    #expect(throws: Stop.self) { try secret(butThrow: true) }
    #expect(seen.withLock { $0 } == [UInt8](repeating: 0, count: 100))
  }

  @Test func neverPrinted() {
    let secret = SecretBytes("open sesame, please, and quietly")
    var dumped = ""
    dump(secret, to: &dumped)
    for text in [
      "\(secret)", String(describing: secret), String(reflecting: secret), "\([secret])", "\(Optional(secret) as Any)",
      dumped,
    ] {
      #expect(text.contains("32 secret bytes"))
      #expect(!text.contains("sesame"))
      #expect(!text.contains("0x"))
    }
    #expect(SecretBytes("a").description == "1 secret byte")
    #expect(Mirror(reflecting: secret).children.isEmpty)
  }

  @Test func equalByContent() throws {
    #expect(SecretBytes("abc") == SecretBytes("abc"))
    #expect(SecretBytes("abc") != SecretBytes("abd"))
    #expect(SecretBytes("abc") != SecretBytes("ab"))
    #expect(SecretBytes("") == SecretBytes(""))
    #expect(SecretBytes(copying: Data("-abc".utf8).dropFirst()) == SecretBytes("abc"))
  }

  @Test func randomBytesAreNotRepeated() throws {
    let all = try (0..<1000).map { _ in try randomBytes(16) }
    #expect(Set(all).count == all.count)
    #expect(try SecretBytes.random(count: 32) != SecretBytes.random(count: 32))
    #expect(try randomBytes(0).isEmpty)
    #expect(try randomBytes(1 << 20).count == 1 << 20)
  }
}
