import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// The erasure of a store of files of which one was damaged beside the store.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ShredDamageTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  enum Damage: String, CaseIterable {
    /// As by a failing disk: neither the size nor the dates of the file change.
    case flipped
    /// As by an editor.
    case edited, cut, emptied, deleted
    /// The file cannot be read.
    case replacedByDirectory

    func inflict(on file: URL) throws {
      let path = file.path
      switch self {
      case .flipped:
        let date = try #require(FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date)
        let byte = try Data(contentsOf: file)[70]
        let handle = try FileHandle(forWritingTo: file)
        try handle.seek(toOffset: 70)
        try handle.write(contentsOf: Data([byte ^ 1]))
        try handle.close()
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
      case .edited: try (Data(contentsOf: file) + Data([0])).write(to: file)
      case .cut: try Data(contentsOf: file).dropLast(20).write(to: file)
      case .emptied: try Data().write(to: file)
      case .deleted: try FileManager.default.removeItem(at: file)
      case .replacedByDirectory:
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
      }
    }
  }

  @Test("It ends, and leaves no value", arguments: Damage.allCases, [false, true])
  func ends(_ damage: Damage, _ isHidden: Bool) async throws {
    let settings = EncryptionSettings(hidesNames: isHidden)
    let files = directory.url.appendingPathComponent("files")
    do {
      let engine = try await TestedStore.file.open(in: directory.url).encrypted(settings)
      for number in 0..<8 { try await engine.put(.known("k\(number)"), "value \(number)") }
      try await engine.close()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: files.path).filter { !$0.hasPrefix(".") }
    let victim = try #require(names.sorted().dropFirst(3).first)
    try damage.inflict(on: files.appendingPathComponent(victim))
    var engine = try await TestedStore.file.open(in: directory.url).encrypted(settings)
    if damage == .replacedByDirectory {
      await expectStorageError(.notAStore, contains: "found something else") {
        [engine] in _ = try await engine.shred()
      }
      try await engine.close()
      try FileManager.default.removeItem(at: files.appendingPathComponent(victim))
      engine = try await TestedStore.file.open(in: directory.url).encrypted(settings)
      #expect(try await engine.continueShredding().isComplete)
    } else {
      let report = try await engine.shred()
      #expect(report.isComplete && report.values == (damage == .deleted ? 7 : 8), "\(report)")
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: files.path).filter { !$0.hasPrefix(".") }
    #expect(left == [])
    #expect(try await engine.quarantinedValues().isEmpty)
    #expect(try await engine.summaries().isEmpty)
    try await engine.put("new", "1")
    #expect(try await engine.text("new") == "1")
    try await engine.close()
  }
}
