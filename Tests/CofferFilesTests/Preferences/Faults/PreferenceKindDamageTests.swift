import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Flipped bits of the type of a preference, wherever it is stored: a read throws or returns the value with its type,
/// never with another one.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct PreferenceKindDamageTests {
  private let stored: [(key: String, value: PreferenceValue)] = [
    ("bytes", .data(Data("7".utf8))), ("count", .integer(42)), ("flag", .boolean(true)), ("list", ["a", "b"]),
    ("text", .string("7")), ("when", .date(Date(timeIntervalSinceReferenceDate: 86_400))),
  ]

  private func filled() async throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    for (key, value) in stored { try await adapter.set(value, for: key) }
    try await adapter.engine.close()
    return fixture
  }

  /// Opens the store and reads every value.
  /// - Returns: The number of values that could be read.
  private func read(_ fixture: PreferenceFixture, _ comment: Comment) async throws -> Int {
    let engine: SlotEngine
    do { engine = try await fixture.open() } catch let error as StorageError {
      #expect(error.code == .damaged, "\(comment): \(error)")
      return 0
    }
    var count = 0
    let adapter = UserDefaultsAdapter(engine: engine)
    for (key, value) in stored {
      do {
        let found = try await adapter.get(key)
        #expect(found == value, comment)
        count += 1
      } catch let error as StorageError {
        #expect(error.code == .damaged, "\(comment): \(error)")
      }
    }
    try await engine.close()
    return count
  }

  // Requirement 1.15
  @Test func inThePropertyList() async throws {
    let fixture = try await filled()
    let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: fixture.file)))
    let start = try #require(Data(file).range(of: Data("<dict>".utf8))?.lowerBound)
    let control = try Snapshot(fixture.control)
    var readable = 0
    for index in start..<file.count {
      try flip(fixture.file, index, bit: index % 8)
      readable += try await read(fixture, "byte \(index)")
      try flip(fixture.file, index, bit: index % 8)
      try control.restore()
    }
    #expect(readable > 0, "the copy serves")
  }

  // Requirement 1.15
  @Test func inTheJournal() async throws {
    let fixture = try await filled()
    let path = fixture.control + "/journal.db"
    let journal = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let control = try Snapshot(fixture.control)
    var attributes = 0
    // The attribute: its code, the size of its content in two bytes, and the kind.
    for index in 0..<journal.count - 4 where Array(journal[index..<index + 3]) == [1, 1, 0] {
      guard (1...9).contains(journal[index + 3]) else { continue }
      attributes += 1
      for bit in 0..<32 {
        try flip(path, index + bit / 8, bit: bit % 8)
        _ = try await read(fixture, "journal byte \(index + bit / 8), bit \(bit % 8)")
        try control.restore()
      }
    }
    #expect(attributes >= stored.count, "\(attributes)")
    #expect(try await read(fixture, "undamaged") == stored.count)
  }

  // Requirement 1.15
  @Test func inAStagedValue() async throws {
    for bit in 0..<16 {
      let fixture = try PreferenceFixture()
      try await (try await fixture.adapter()).set("7", for: "count")
      let path = fixture.control + "/staged/"
      let isArmed = Locked(true)
      let engine = try await fixture.open {
        $0.atStep = { step in
          guard step == .committed, isArmed.withLock({ $0 }), let name = try? fixture.names(in: "staged").first else {
            return
          }
          #expect(throws: Never.self) { try flip(path + name, bit / 8, bit: bit % 8) }
          // What has the date of its writing is not read back.
          let times = [timeval(), timeval()]
          #expect(utimes(path + name, times) == 0)
        }
      }
      let adapter = UserDefaultsAdapter(engine: engine)
      // Reads of the key throw or return the previous value; the error says so.
      await #expect(throws: StorageError.self) { try await adapter.set(42, for: "count") }
      do {
        #expect(try await adapter.get("count") == "7", "bit \(bit)")
      } catch let error as StorageError {
        #expect(error.code == .damaged, "bit \(bit): \(error)")
      }
      isArmed.withLock { $0 = false }
      try await adapter.set(43, for: "count")
      #expect(try await adapter.get("count") == 43)
      try await engine.close()
    }
  }
}

/// Flips a bit of a file in place and restores its modification time.
private func flip(_ path: String, _ index: Int, bit: Int) throws {
  var status = stat()
  let file = open(path, O_RDWR)
  defer { close(file) }
  var byte: UInt8 = 0
  guard file >= 0, fstat(file, &status) == 0, pread(file, &byte, 1, off_t(index)) == 1 else { throw TestFailure(path) }
  byte ^= 1 << UInt8(bit)
  guard pwrite(file, &byte, 1, off_t(index)) == 1, futimens(file, [status.st_atim, status.st_mtim]) == 0 else {
    throw TestFailure("write \(path)")
  }
}

/// The files of a directory, which can be restored.
private struct Snapshot {
  private let root: String
  private var files: [String: Data] = [:]

  init(_ root: String) throws {
    self.root = root
    for name in try Self.names(root) { files[name] = try Data(contentsOf: URL(fileURLWithPath: root + "/" + name)) }
  }

  /// Removes new files and replaces the others. None is truncated: a store that is not released yet may map it.
  func restore() throws {
    for name in try Self.names(root) where files[name] == nil { unlink(root + "/" + name) }
    for (name, data) in files {
      guard (try? Data(contentsOf: URL(fileURLWithPath: root + "/" + name))) != data else { continue }
      try data.write(to: URL(fileURLWithPath: root + "/" + name), options: .atomic)
    }
  }

  private static func names(_ root: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root).filter { name in
      var isDirectory: ObjCBool = false
      return FileManager.default.fileExists(atPath: root + "/" + name, isDirectory: &isDirectory)
        && !isDirectory.boolValue
    }
  }
}
