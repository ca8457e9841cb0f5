import CofferCore
import Foundation
import Testing

@testable import CofferSQLite

/// Tests of parsing the system's table of locks.
@Suite struct LockHolderTests {
  @Test func theTableOfLocksIsRead() throws {
    let path = FileManager.default.temporaryDirectory.path
    let file = try #require(FileIdentity(path))
    // Linux encodes both device numbers in one.
    let major = String(file.device >> 8 & 0xFFF, radix: 16)
    let minor = String(file.device & 0xFF | file.device >> 12 & 0xFFFF_FF00, radix: 16)
    let here = "\(major):\(minor):\(file.inode)"
    let table = """
      1: POSIX  ADVISORY  WRITE 11 \(here) 120 120
      2: -> POSIX  ADVISORY  WRITE 12 \(here) 120 120
      3: POSIX  ADVISORY  READ 13 \(here) 124 124
      4: POSIX  ADVISORY  READ 14 \(here) 100 EOF
      5: POSIX  ADVISORY  WRITE 15 \(major):\(minor):\(file.inode + 1) 120 120
      6: FLOCK  ADVISORY  WRITE 16 \(here) 0 EOF
      7: POSIX  ADVISORY  WRITE 0 \(here) 120 120
      8: nonsense
      9: POSIX  ADVISORY  WRITE x \(here) y z
      """
    #expect(LockHolder.processes(in: table, holding: 120...120, of: file) == [11, 14])
    #expect(LockHolder.processes(in: table, holding: 123...127, of: file) == [13, 14])
    #expect(LockHolder.processes(in: "", holding: 0...1_000, of: file).isEmpty)
  }

  @Test func anOldLibraryIsRefused() throws {
    let file = StoreFile(path: "/nowhere/store.db", busyTimeout: 0)
    try Connection.checkLibrary(3_037_000, file)
    do {
      try Connection.checkLibrary(3_036_001, file)
      Issue.record("accepted")
    } catch {
      #expect(error.description.contains("3.36.1") && error.description.contains("3.37.0"), "\(error)")
    }
  }
}
