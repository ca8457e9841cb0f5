import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite

/// The wake-up file is mapped by everybody at once, so nobody may make it shorter under the others.
@Suite(.timeLimit(.minutes(15))) struct WakeFileTests {
  @Test("Those who make the file at the same moment neither harm each other nor lose a number")
  func madeAtOnce() throws {
    let directory = try TemporaryDirectory()
    for round in 1...(isProving ? 20_000 : 1_000) {
      let place = StorePlace(path: directory.path("\(round).db"), busyTimeout: 0)
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        guard let file = try? WakeFile(place) else { return }
        file.raise(to: Revision(UInt64(number + 1)))
        _ = file.revision
      }
      let words = try #require(WakeWords(ofFileAt: place.wakePath))
      #expect(words.announced == Revision(4), "round \(round)")
      unlink(place.wakePath)
    }
  }

  @Test("A file whose beginning is damaged is made anew without getting shorter")
  func damagedMagic() throws {
    let directory = try TemporaryDirectory()
    let place = StorePlace(path: directory.path("store.db"), busyTimeout: 0)
    let first = try WakeFile(place)
    first.raise(to: Revision(7))
    let descriptor = open(place.wakePath, O_WRONLY)
    defer { close(descriptor) }
    #expect(pwrite(descriptor, "X", 1, 0) == 1)
    let second = try WakeFile(place)
    #expect(second.revision == .zero)
    // The first one still has it mapped.
    #expect(first.revision == Revision(7))
    first.raise(to: Revision(8))
    #expect(second.revision == Revision(8))
  }
}
