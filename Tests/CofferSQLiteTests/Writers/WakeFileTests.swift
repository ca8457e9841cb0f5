import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSQLite

/// The wake-up file is mapped by everybody at once, so nobody may make it shorter under the others.
@Suite(.blocking, .timeLimit(.minutes(15))) struct WakeFileTests {
  @Test("Those who make the file at the same moment neither harm each other nor lose a number")
  func madeAtOnce() throws {
    let directory = try TemporaryDirectory()
    for round in 1...(isProving ? 20_000 : 1_000) {
      let place = StorePlace(path: directory.path("\(round).db"), busyTimeout: 0)
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        guard let file = try? WakeFile(place) else { return }
        file.raise(to: StoreRevision(UInt64(number + 1)))
        _ = file.revision
      }
      let words = try #require(WakeWords(ofFileAt: place.wakePath))
      #expect(words.announced == StoreRevision(4), "round \(round)")
      unlink(place.wakePath)
    }
  }

  @Test("A file whose mark is damaged keeps what it says, a failed sync too; one of the first format says nothing")
  func damagedMagic() throws {
    let directory = try TemporaryDirectory()
    let place = StorePlace(path: directory.path("store.db"), busyTimeout: 0)
    let first = try WakeFile(place)
    first.raise(to: StoreRevision(7))
    let descriptor = open(place.wakePath, O_WRONLY)
    defer { close(descriptor) }
    #expect(pwrite(descriptor, "X", 1, 0) == 1)
    first.fail()
    let second = try WakeFile(place)
    #expect(second.revision == StoreRevision(7) && second.hasFailed)
    #expect(try Data(contentsOf: URL(fileURLWithPath: place.wakePath)).prefix(8) == Data("COFWAKE2".utf8))
    // The first one still has it mapped.
    first.raise(to: StoreRevision(8))
    #expect(second.revision == StoreRevision(8))
    #expect(pwrite(descriptor, "COFWAKE1", 8, 0) == 8)
    #expect(try WakeFile(place).revision == .zero)
  }
}
