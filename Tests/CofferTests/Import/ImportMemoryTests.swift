import Coffer
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// An import holds a batch of a few megabytes in memory, whatever the sizes and the number of the values.
@Suite(
  "The memory of an import", .blocking, .serialized,
  .disabled(if: isThreadSanitized, "the thread sanitizer needs memory of its own for all memory that is used"))
struct ImportMemoryTests {
  private let directory: TemporaryDirectory
  private static let count = 24
  private static let size = 8 << 20

  init() throws { directory = try TemporaryDirectory() }

  /// Runs the import in a process of its own, and returns the peak of its memory in megabytes and its last line.
  private func peak(_ location: String, _ origin: String) throws -> (Int, String) {
    let helper = try HelperProcess(["import", location, origin, "keep", "bytes"])
    let lines = try helper.lines()
    try #require(helper.wait() == 0)
    let peak = try #require(lines.first { $0.hasPrefix("peak ") }.flatMap { Int($0.dropFirst(5)) })
    return (peak / 1_024, try #require(lines.last))
  }

  private func origins(_ count: Int, size: Int) throws -> String {
    let path = directory.path("old")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for number in 0..<count {
      try Data(repeating: UInt8(truncatingIfNeeded: number &+ 1), count: size).write(
        to: URL(fileURLWithPath: "\(path)/key-\(number)"))
    }
    return path
  }

  @Test(
    "Large values that the store has are not read to see that small originals differ", arguments: ["sqlite", "file"])
  func largeStoredValues(_ scheme: String) throws {
    let location = "\(scheme):\(directory.path("new"))"
    let filler = try HelperProcess(["fill", location, "\(Self.count)", "\(Self.size)"])
    try #require(filler.wait() == 0)
    let (peak, last) = try peak(location, try origins(Self.count, size: 10))
    #expect(last == "done 0 0 0")
    #expect(peak < 100, "it needed \(peak) MB; the values together have \(Self.count * Self.size >> 20) MB")
  }

  @Test("Large originals are taken one after another, and compared without all being in memory")
  func largeOriginals() throws {
    let count = 2 * Self.count
    let location = "sqlite:\(directory.path("new.db"))"
    let origin = try origins(count, size: Self.size)
    let (first, taken) = try peak(location, origin)
    #expect(taken == "done \(count) 0 0")
    let (second, there) = try peak(location, origin)
    #expect(there == "done 0 \(count) 0")
    // The allocator keeps several copies of a value; how many depends on the threads.
    #expect(max(first, second) < 240, "\(first) and \(second) MB; all have \(count * Self.size >> 20) MB")
  }
}
