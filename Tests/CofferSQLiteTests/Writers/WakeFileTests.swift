import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSQLite

/// Tests of the wake-up file, which several processes map, so that it must never be truncated.
@Suite(.blocking, .timeLimit(.minutes(15))) struct WakeFileTests {
  @Test("Concurrent creation of the file neither fails nor loses a revision")
  func madeAtOnce() throws {
    let directory = try TemporaryDirectory()
    for round in 1...(isProving ? 20_000 : 1_000) {
      let file = StoreFile(path: directory.path("\(round).db"), busyTimeout: 0)
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        guard let wake = try? WakeFile(file) else { return }
        wake.raise(to: StoreRevision(UInt64(number + 1)))
        _ = wake.revision
      }
      let words = try #require(WakeWords(ofFileAt: file.wakePath))
      #expect(words.announced == StoreRevision(4), "round \(round)")
      unlink(file.wakePath)
    }
  }

  @Test("A file with a damaged magic keeps its words and its failure sign; one of the first format is reset")
  func damagedMagic() throws {
    let directory = try TemporaryDirectory()
    let file = StoreFile(path: directory.path("store.db"), busyTimeout: 0)
    let first = try WakeFile(file)
    first.raise(to: StoreRevision(7))
    let descriptor = open(file.wakePath, O_WRONLY)
    defer { close(descriptor) }
    #expect(pwrite(descriptor, "X", 1, 0) == 1)
    first.fail()
    let second = try WakeFile(file)
    #expect(second.revision == StoreRevision(7) && second.hasFailed)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.wakePath)).prefix(8) == Data("COFWAKE2".utf8))
    // The first instance still maps the file.
    first.raise(to: StoreRevision(8))
    #expect(second.revision == StoreRevision(8))
    #expect(pwrite(descriptor, "COFWAKE1", 8, 0) == 8)
    #expect(try WakeFile(file).revision == .zero)
  }
}
