import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecrets

/// What is detected in the header of a sealed file: damage, a wrong passphrase, a cost, another format.
@Suite(.serialized) struct SealedHeaderTests {
  private let secret = Data("hunter2-hunter2-hunter2".utf8)
  private let size = SealedHeader.size

  private func filled() async throws -> (fixture: SealedFixture, file: Data) {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await engine.commit(WriteBatch([.put(KeyName("token"), secret)]), from: StoreOrigin())
    try await engine.close()
    return (fixture, try Data(contentsOf: fixture.url))
  }

  @Test("Each flipped bit of the header is reported as damage, never as a wrong passphrase")
  func everyBit() throws {
    let whole = try SealedProbe.file("correct horse", values: 1)
    for bit in 0..<(size * 8) {
      var file = whole
      file[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(code { try SealedHeader(of: file) } == .damaged, "bit \(bit)")
    }
    #expect(try SealedProbe.open(whole, "correct horse") == 1)
    #expect(code { try SealedProbe.open(whole, "battery staple") } == .wrongPassphrase)
  }

  /// Returns damaged files: with a bit flipped in each byte of the header, or a truncated, zeroed or foreign start.
  private func damages(of whole: Data) -> [Data] {
    var files = (0..<size).map { position in
      var file = whole
      file[position] ^= 1 << UInt8(position % 8)
      return file
    }
    for count in [0, 1, 7, 8, 9, size - 1, size, size + 20] { files.append(whole.prefix(count)) }
    for range in [0..<8, 0..<9, 8..<12, 0..<size, 20..<52, 100..<200] {
      files.append(whole.prefix(range.lowerBound) + Data(count: range.count) + whole.dropFirst(range.upperBound))
    }
    files.append(Data("#!/bin/sh\necho this is no sealed file at all, and it is long enough to be one\n".utf8))
    return files
  }

  @Test("The copy replaces a damaged header, and a wrong passphrase is still reported as such")
  func copyServes() async throws {
    let (fixture, whole) = try await filled()
    for (index, file) in damages(of: whole).enumerated() {
      try Data(file).write(to: fixture.url)
      if index % 8 == 0 { try await expectError(.wrongPassphrase) { _ = try await fixture.open("battery staple") } }
      let told = Locked<[DamageReport]>([])
      let engine = try await fixture.open { $0.onDamage = { report in told.withLock { $0.append(report) } } }
      #expect(try await engine.entry(KeyName("token"))?.value == secret, "damage \(index)")
      #expect(try await engine.recoveryReport().lost == [], "damage \(index)")
      #expect(told.withLock { $0.map(\.isCopyUsed) } == [true], "damage \(index)")
      try await engine.close()
    }
  }

  @Test("Without a copy a damaged header is reported as damage, and no use of a copy is reported")
  func noCopy() async throws {
    let (fixture, whole) = try await filled()
    try FileManager.default.removeItem(atPath: fixture.control + "/copy")
    for (index, file) in damages(of: whole).enumerated() where index % 3 == 0 || file.isEmpty {
      try Data(file).write(to: fixture.url)
      do {
        let engine = try await fixture.open {
          $0.onDamage = { report in if report.isCopyUsed { Issue.record("\(report)") } }
        }
        _ = try await engine.entry(KeyName("token"))
        Issue.record("damage \(index) was not found")
      } catch let error as StorageError {
        #expect([.damaged, .notAStore].contains(error.code), "damage \(index): \(error)")
      }
      #expect(try Data(contentsOf: fixture.url) == file)
    }
  }

  /// Returns a file with other scrypt parameters, as it can be forged without the passphrase.
  private func hostile(_ whole: Data, logN: UInt8, r: UInt32, p: UInt32) -> Data {
    var header = Data(whole.prefix(10)) + Data([logN, 0])
    header.append(integer: r)
    header.append(integer: p)
    header += whole[20..<(size - 32)]
    return header + sha256(header) + whole.dropFirst(size)
  }

  @Test(
    "A cost beyond the limits is refused before the passphrase is requested",
    arguments: [
      (63, 8, 1), (255, .max, .max), (22, 8, 1), (19, 8, 1), (17, 8, 11), (10, .max, 1), (10, 1, .max), (17, 8, .max),
    ] as [(UInt8, UInt32, UInt32)])
  func hostileCosts(_ logN: UInt8, _ r: UInt32, _ p: UInt32) async throws {
    let (fixture, whole) = try await filled()
    let asked = Locked(0)
    let source = PassphraseSource.provided {
      asked.withLock { $0 += 1 }
      return Data("correct horse".utf8)
    }
    let file = hostile(whole, logN: logN, r: r, p: p)
    try file.write(to: fixture.url)
    try await expectError(.unsupported, "256 MiB") {
      _ = try await SlotEngine.sealed(at: fixture.url, passphrase: source)
    }
    #expect(asked.withLock { $0 } == 0)
  }

  @Test("The key of the passphrase is compared with its id before anything is decrypted")
  func committed() throws {
    let whole = try SealedProbe.file("correct horse", values: 1)
    func forged(_ position: Int) -> Data {
      var header = whole.prefix(size - 32)
      header[position] ^= 1
      return header + sha256(header) + whole.dropFirst(size)
    }
    // The id begins at 52, the data key at 84: a forged data key is no mistyped passphrase.
    #expect(code { try SealedProbe.open(forged(52), "correct horse") } == .wrongPassphrase)
    #expect(code { try SealedProbe.open(forged(84), "correct horse") } == .damaged)
    #expect(code { try SealedProbe.open(forged(84), "battery staple") } == .wrongPassphrase)
  }

  @Test("A cost within larger limits is accepted")
  func allowedCosts() async throws {
    let (fixture, whole) = try await filled()
    try hostile(whole, logN: 19, r: 8, p: 1).write(to: fixture.url)
    var limits = PassphraseLimits()
    limits.memory = 1 << 30
    // The passphrase is tried, but the changed parameters yield another key.
    try await expectError(.wrongPassphrase) {
      _ = try await SlotEngine.sealed(at: fixture.url, passphrase: passphrase("correct horse"), limits: limits)
    }
  }

  /// Written by the first version with this format. It must remain readable: never generate it again.
  @Test("The golden file of format 2 opens")
  func golden() async throws {
    let fixture = try SealedFixture()
    try FileManager.default.copyItem(at: Self.golden("format-2"), to: fixture.url)
    let engine = try await fixture.open("correct horse battery staple")
    #expect(try await engine.entry(KeyName("ünïcode/🗝️"))?.value == Data("zwölf".utf8))
    #expect(try await engine.entry(KeyName("api-token"))?.value == Data("s3cr3t".utf8))
    #expect(try await engine.entry(KeyName("empty"))?.value == Data())
    try await engine.close()
    #expect(try Data(contentsOf: Self.golden("format-2")) == Data(contentsOf: fixture.url))
  }

  private static func golden(_ name: String) -> URL {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return folder.appendingPathComponent("Golden/\(name).sealed")
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["COFFER_MAKE_GOLDEN"] != nil))
  func makeGolden() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open("correct horse battery staple")
    for (key, value) in ["api-token": "s3cr3t", "empty": "", "ünïcode/🗝️": "zwölf"] {
      try await engine.commit(WriteBatch([.put(KeyName(key), Data(value.utf8))]), from: StoreOrigin())
    }
    try await engine.close()
    try FileManager.default.copyItem(at: fixture.url, to: Self.golden("format-2"))
  }
}
