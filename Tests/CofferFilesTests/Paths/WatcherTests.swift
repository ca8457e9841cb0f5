import CofferCore
import CofferFileSystem
import CofferTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(15))) struct WatcherTests {
  @Test("A directory that is removed or moved away is watched again once its path exists")
  func anotherDirectory() async throws {
    let root = try TemporaryDirectory()
    let (watched, away, files) = (root.path("watched"), root.path("away"), FileManager.default)
    try files.createDirectory(atPath: watched, withIntermediateDirectories: false)
    let heard = Locked<[String]>([])
    let id = FileWatcher.shared.watch(directory: watched) { event in
      if case .changed(let name, _) = event { heard.withLock { $0.append(name) } }
    }
    defer { FileWatcher.shared.unwatch(id) }
    func write(_ name: String) throws { try Data().write(to: URL(fileURLWithPath: watched + "/" + name)) }
    /// Writes until the watcher reports it: the watch is renewed once per second.
    func writeUntilHeard(_ name: String) async throws {
      try await eventually("\(name) is reported") {
        try write(name)
        return heard.withLock { $0.contains(name) }
      }
    }

    try await writeUntilHeard("first")
    try files.moveItem(atPath: watched, toPath: away)
    try files.createDirectory(atPath: watched, withIntermediateDirectories: false)
    try await writeUntilHeard("second")
    try files.removeItem(atPath: watched)
    try files.createDirectory(atPath: watched, withIntermediateDirectories: false)
    try await writeUntilHeard("third")

    // Events in the directory that was moved away are not reported.
    try Data().write(to: URL(fileURLWithPath: away + "/late"))
    try await writeUntilHeard("last")
    #expect(heard.withLock { !$0.contains("late") })
  }
}
