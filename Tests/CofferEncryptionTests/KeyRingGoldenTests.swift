import CofferCore
import CofferEncryption
import Foundation
import Testing

/// Records that this version or an earlier one has written, which every later one must open.
@Suite struct KeyRingGoldenTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Golden")

  private struct Sample: Sendable {
    let name: String
    let secret: String
    let settings: EncryptionSettings
    let states: [KeyRingEntry.State]
    let phase: KeyRing.Phase
    var coverage = KeyRing.Coverage.all
    var label = ""

    static let all = [
      Sample(
        name: "material", secret: "golden key material, 32 bytes or more",
        settings: EncryptionSettings(algorithm: .aes256), states: [.primary], phase: .complete),
      Sample(
        name: "passphrase", secret: "correct horse battery staple",
        settings: EncryptionSettings(algorithm: .chaCha20Poly1305, hidesNames: true, padsValues: true),
        states: [.retired, .destroyed, .primary], phase: .encrypting),
      Sample(
        name: "declared", secret: "golden key material, 32 bytes or more",
        settings: EncryptionSettings(padsValues: true), states: [.retired, .primary], phase: .complete,
        coverage: .declared),
      // Written by scripts/envelopes.py.
      Sample(
        name: "labelled", secret: "golden key material, 32 bytes or more", settings: EncryptionSettings(),
        states: [.primary], phase: .complete, label: "sqlite:café.db"),
    ]

    var file: URL { KeyRingGoldenTests.folder.appendingPathComponent("format-1-\(name).keyring") }
  }

  private static let created = Date(timeIntervalSince1970: 1_800_000_000)

  @Test(arguments: Sample.all.indices) func opens(_ index: Int) throws {
    let sample = Sample.all[index]
    let record = try Data(contentsOf: sample.file)
    let header = try KeyRingHeader(of: record)
    let root = try RootKey(from: SecretBytes(copying: Data(sample.secret.utf8)), header.derivation)
    let ring = try KeyRing.open(record, root: root)
    #expect(ring.label == sample.label)
    #expect(ring.coverage == sample.coverage && header.coverage == sample.coverage)
    #expect(ring.settings == sample.settings && ring.phase == sample.phase && ring.generation == 1)
    #expect(ring.entries.map(\.state) == sample.states)
    #expect(ring.entries.map(\.created) == ring.entries.indices.map { Self.created + Double($0) })
    // The ids in the record are those of the keys.
    #expect(ring.entries.allSatisfy { $0.key == nil || $0.key?.id == $0.id })
    #expect(record.dropFirst(84).prefix(16) == ring.storeID)
  }

  /// Writes the files of a new format: run it once by hand, when the format changes.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["COFFER_MAKE_GOLDEN"] != nil)) func make() throws {
    for sample in Sample.all where sample.label.isEmpty && !FileManager.default.fileExists(atPath: sample.file.path) {
      var ring = try KeyRing.create(settings: sample.settings, coverage: sample.coverage, now: Self.created)
      for index in sample.states.indices.dropFirst() {
        try ring.addPrimary(now: Self.created + Double(index))
      }
      for (entry, state) in zip(ring.entries, sample.states) where state == .destroyed {
        try ring.destroy(entry.id, now: Self.created + 9)
      }
      ring.phase = sample.phase
      let method: RootKeyDerivation.Method =
        sample.name == "passphrase" ? .passphrase(ScryptCost(logN: 10, r: 2, p: 1)) : .keyMaterial
      let root = try RootKey(from: SecretBytes(copying: Data(sample.secret.utf8)), .random(method))
      try ring.sealed(under: root).write(to: sample.file)
    }
  }
}
