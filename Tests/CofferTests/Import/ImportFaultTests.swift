import Coffer
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Faults of the device and hostile directories: nothing is lost, and the next run goes on.
@Suite("Faults of an import", .blocking, .serialized)
struct ImportFaultTests {
  private let directory: TemporaryDirectory
  private var origin: String { directory.path("old") }

  init() throws {
    directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: origin, withIntermediateDirectories: true)
  }

  private func write(_ name: String, _ data: Data) throws {
    try data.write(to: URL(fileURLWithPath: "\(origin)/\(name)"))
  }

  private func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: origin)) }

  private func importValues(_ engine: any StorageEngine, _ encoding: Import.Encoding = .bytes) async throws
    -> Import.Report
  {
    var options = Import.Options()
    options.removesOriginals = true
    return try await engine.import(from: .files(directory: origin, encoding: encoding), options: options).result()
  }

  @Test("A full disk ends the import with its reason, and the next one continues it", arguments: ["sqlite", "file"])
  func fullDisk(_ scheme: String) async throws {
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "12m") else {
      try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
    }
    let value = Data(repeating: 7, count: 1 << 20)
    let all = Set((0..<24).map { "value-\($0)" })
    for name in all { try write(name, value) }
    let location = "\(scheme):\(disk.path)/new"
    let engine = try await StoreLocation(location).open()
    let error = await #expect(throws: StorageError.self) { _ = try await importValues(engine) }
    #expect(error?.code == .diskFull, "\(String(describing: error))")
    let stored = Set(try await engine.summaries().map(\.key.string))
    let left = try names()
    #expect(!stored.isEmpty && stored.count < all.count && stored.union(left) == all)
    #expect(stored.isDisjoint(with: left), "what is stored is removed, and nothing else")
    try await engine.close()
    try disk.resize(to: "64m")
    let again = try await StoreLocation(location).open()
    let report = try await importValues(again)
    #expect(report.isComplete && report.imported == all.count - stored.count)
    #expect(try names().isEmpty)
    for name in all { #expect(try await again.entry(KeyName(name))?.value == value) }
    try await again.close()
  }

  @Test(
    "A device that fails while originals are read or removed, or values are written or synced, loses nothing",
    .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"),
    arguments: [("openat", true), ("read", true), ("unlinkat", true), ("pwrite", false), ("sync", false)])
  func failingDevice(_ call: String, atOriginals: Bool) async throws {
    for number in 0..<20 { try write("value-\(number)", Data("\"text \(number)\"".utf8)) }
    let location = "sqlite:\(directory.path("new.db"))"
    var ended: [String] = []
    for count in 1...12 {
      let fault = [
        ("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT", "fail:\(call):\(count)"),
        ("COFFER_FAULT_ROOT", atOriginals ? origin : location.dropFirst("sqlite:".count).description),
      ]
      let helper = try HelperProcess(["import", location, origin], environment: fault)
      ended.append(try helper.lines().last ?? "-")
      helper.wait()
      let engine = try await StoreLocation(location).open()
      let stored = Set(try await engine.summaries().map(\.key.string))
      let left = try names()
      #expect(stored.union(left).count == 20, "\(call) \(count): \(ended)")
      try await engine.close()
      if left.isEmpty { break }
    }
    let last = try HelperProcess(["import", location, origin])
    #expect(try last.lines().last?.hasPrefix("done ") == true)
    let store = TypedStore(engine: try await StoreLocation(location).open())
    for number in 0..<20 {
      #expect(try await store.load(String.self, for: KeyName("value-\(number)")) == "text \(number)", "\(ended)")
    }
    try await store.engine.close()
    #expect(try names().isEmpty)
  }

  @Test("Links, pipes and names that are no text are skipped, and never waited for")
  func hostileNames() async throws {
    try write("good", Data("[1]".utf8))
    try FileManager.default.createDirectory(atPath: "\(origin)/folder", withIntermediateDirectories: true)
    for (name, target) in [("dangling", "none"), ("loop", "loop"), ("outside", "/etc/passwd"), ("zero", "/dev/zero")] {
      try FileManager.default.createSymbolicLink(atPath: "\(origin)/\(name)", withDestinationPath: target)
    }
    #expect(mkfifo("\(origin)/pipe", 0o600) == 0)
    let latin = (Array("\(origin)/caf".utf8) + [0xE9, 0]).map { CChar(bitPattern: $0) }
    let file = Foundation.open(latin, O_WRONLY | O_CREAT, 0o600)
    #expect(file >= 0)
    close(file)
    let engine = try await StoreLocation("sqlite:\(directory.path("new.db"))").open()
    let report = try await importValues(engine, .json)
    #expect(report.imported == 1 && report.skipped == 7 && report.isComplete, "\(report.entries)")
    #expect(try await engine.summaries().map(\.key.string) == ["good"])
    #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
    try await engine.close()
  }

  @Test("A file that is replaced by something else after it was listed, or grows, stays as it is")
  func changing() async throws {
    for number in 0..<600 { try write("value-\(number)", Data("\(number)".utf8)) }
    let location = "sqlite:\(directory.path("new.db"))"
    let helper = try HelperProcess(["import", location, origin, "bytes", "pause"])
    var line = try helper.line()
    while let present = line, present != "committed" { line = try helper.line() }
    // The first batch is committed, and its originals are not removed yet; the last files are not read yet.
    try write("value-0", Data("edited".utf8))
    let last = "\(origin)/value-99"
    unlink(last)
    #expect(mkfifo(last, 0o600) == 0)
    for _ in 0..<4 { helper.tell("go on") }
    let ended = try helper.lines().last
    #expect(ended?.hasPrefix("done 599 0 598") == true, "\(ended ?? "-")")
    #expect(try names() == ["value-0", "value-99"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(origin)/value-0")) == Data("edited".utf8))
  }

  @Test("A hundred thousand files are imported in bounded memory")
  func manyFiles() async throws {
    let count = 100_000
    for number in 0..<count {
      let file = Foundation.open("\(origin)/key-\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      let text = Array("\"text \(number)\"".utf8)
      try #require(Foundation.write(file, text, text.count) == text.count)
      close(file)
    }
    let helper = try HelperProcess(["import", "sqlite:\(directory.path("new.db"))", origin, "keep"])
    let lines = try helper.lines()
    #expect(lines.last == "done \(count) 0 0", "\(lines.last ?? "-")")
    let peak = try #require(lines.first { $0.hasPrefix("peak ") }.flatMap { Int($0.dropFirst(5)) })
    #expect(peak < 250_000, "\(peak) kB")
  }
}
