#if os(Linux)
  package import CofferTesting
  package import Foundation
  package import Testing

  /// The core dump of a helper process.
  package struct CoreDump {
    /// Whether the kernel writes core dumps into the directory of the process.
    package static let isWritten: Bool = {
      let pattern = (try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)) ?? "|"
      return !pattern.hasPrefix("|") && !pattern.contains("/")
    }()
    /// The reason why a test without dumps is skipped.
    package static let elsewhere: Comment = "core dumps go elsewhere on this machine"

    private let content: Data

    /// Waits until a helper, which prints a marker of its ordinary memory before, has dumped core.
    /// - Parameter folder: the directory of the dump.
    package init(of helper: HelperProcess, in folder: TemporaryDirectory) throws {
      let marker = try #require(try helper.line())
      try blockUntil("the helper has dumped core") { !helper.process.isRunning }
      helper.wait()
      #expect(helper.process.terminationReason == .uncaughtSignal)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix("core") }
      content = try Data(
        contentsOf: URL(fileURLWithPath: folder.path(try #require(names.first))), options: .alwaysMapped)
      // Ordinary memory is included, which proves that the dump is complete.
      try #require(contains(Data(marker.utf8)))
    }

    /// Whether the dump contains some bytes.
    package func contains(_ needle: Data) -> Bool {
      content.withUnsafeBytes { content in
        needle.withUnsafeBytes { needle in
          guard var start = content.baseAddress, let wanted = needle.baseAddress else { return false }
          let end = start + content.count
          while end - start >= needle.count, let found = memchr(start, Int32(needle[0]), end - start - needle.count + 1)
          {
            if memcmp(found, wanted, needle.count) == 0 { return true }
            start = UnsafeRawPointer(found) + 1
          }
          return false
        }
      }
    }
  }
#endif
