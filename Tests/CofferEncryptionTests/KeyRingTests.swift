import CofferCore
import CofferEncryption
import Foundation
import Testing

@Suite struct KeyRingTests {
  private let now = Date(timeIntervalSince1970: 1_800_000_000.123)

  @Test func aRingSurvivesSealing() throws {
    let settings = EncryptionSettings(algorithm: .chaCha20Poly1305, hidesNames: true, padsValues: true)
    var ring = try KeyRing.create(settings: settings, now: now)
    let first = ring.primary
    let second = try ring.addPrimary(now: now + 1)
    try ring.addPrimary(now: now + 2)
    try ring.destroy(second, now: now + 3)
    ring.phase = .encrypting
    let root = try RootKey.forTests()
    let opened = try KeyRing.open(ring.sealed(under: root), root: root)
    #expect(opened.storeID == ring.storeID && opened.settings == settings && opened.phase == .encrypting)
    #expect(opened.indexKey.id == ring.indexKey.id && opened.primary.id == ring.primary.id && opened.generation == 1)
    #expect(opened.entries == ring.entries && Set(opened.keys.keys) == Set(ring.keys.keys))
    #expect(opened.entries.map(\.state) == [.retired, .destroyed, .primary])
    #expect(opened.entries[0].changed == Date(timeIntervalSince1970: 1_800_000_001.123))
    #expect(try opened.key(first.id).material == first.material)
    #expect(try code { _ = try opened.key(second) } == .keyUnavailable)
  }

  @Test func thePrimaryStays() throws {
    var ring = try KeyRing.create(settings: EncryptionSettings(), now: now)
    let id = ring.primary.id
    #expect(try code { try ring.remove(id) } == .unsupported)
    #expect(try code { try ring.destroy(id, now: now) } == .unsupported)
    try ring.addPrimary(now: now)
    try ring.remove(id)
    #expect(ring.entries.count == 1 && ring.keys.count == 1)
    #expect(try code { _ = try ring.key(id) } == .keyUnavailable)
    #expect(try code { try ring.destroy(id, now: now) } == .keyUnavailable)
    try ring.remove(id)
  }

  @Test func aRingIsBounded() throws {
    var ring = try KeyRing.create(settings: EncryptionSettings(), now: now)
    for _ in 1..<KeyRing.maximumCount { try ring.addPrimary(now: now) }
    #expect(try code { try ring.addPrimary(now: now) } == .unsupported)
    let root = try RootKey.forTests()
    let record = try ring.sealed(under: root)
    #expect(record.count <= KeyRingHeader.limit)
    #expect(try KeyRing.open(record, root: root).entries == ring.entries)
  }

  @Test func anotherRootKeyIsWrong() throws {
    let ring = try KeyRing.create(settings: EncryptionSettings(), now: now)
    let root = try RootKey.forTests("a")
    let record = try ring.sealed(under: root)
    for other in [try RootKey.forTests("b"), try RootKey.forTests("a", salt: 1)] {
      let error = try storageError { _ = try KeyRing.open(record, root: other) }
      #expect(error.code == .wrongPassphrase)
    }
  }

  @Test func everyChangedBitIsNoticed() throws {
    let root = try RootKey.forTests()
    let record = try KeyRing.create(settings: EncryptionSettings(), now: now).sealed(under: root)
    for bit in 0..<(record.count * 8) {
      var changed = record
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(try code { _ = try KeyRing.open(changed, root: root) } == .damaged, "bit \(bit)")
    }
    for count in 0..<record.count {
      #expect(try code { _ = try KeyRing.open(record.prefix(count), root: root) } == .damaged, "\(count) bytes")
    }
    #expect(try code { _ = try KeyRing.open(record + Data([0]), root: root) } == .damaged)
  }

  /// Anybody can recompute the checksum; then the tag shows the change.
  @Test func everyChangedByteWithACorrectedChecksumIsNoticed() throws {
    let root = try RootKey.forTests()
    let record = try KeyRing.create(settings: EncryptionSettings(), now: now).sealed(under: root)
    for index in 0..<(record.count - 32) {
      var changed = record.dropLast(32)
      changed[index] ^= 1
      changed += sha256(changed)
      let found = try code { _ = try KeyRing.open(changed, root: root) }
      #expect([.damaged, .wrongLabel, .wrongPassphrase, .newerFormat].contains(found), "byte \(index): \(found)")
    }
  }

  @Test func newerVersionsAreRecognized() throws {
    let root = try RootKey.forTests()
    let record = try KeyRing.create(settings: EncryptionSettings(), now: now).sealed(under: root)
    for (index, value) in [(8, UInt8(2)), (9, 3), (11, 2)] {
      var newer = record.dropLast(32)
      newer[index] = value
      newer += sha256(newer)
      #expect(try code { _ = try KeyRing.open(newer, root: root) } == .newerFormat)
    }
  }

  @Test func nothingSecretIsPrinted() throws {
    var ring = try KeyRing.create(settings: EncryptionSettings(), now: now)
    try ring.addPrimary(now: now)
    let root = try RootKey.forTests()
    var text = ""
    for value in [ring, ring.entries, root, ring.primary, ring.keys, ring.indexKey] as [Any] {
      dump(value, to: &text)
      text += "\(value)" + String(reflecting: value)
    }
    for key in ring.keys.values.map(\.material) + [ring.indexKey.material] {
      key.withUnsafeBytes { bytes in
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        #expect(
          !text.contains(hex.prefix(16)) && !text.contains(bytes.map { "\($0)" }.prefix(4).joined(separator: ", ")))
      }
    }
    #expect("\(ring)".contains("a key ring of 2 keys"))
  }
}
