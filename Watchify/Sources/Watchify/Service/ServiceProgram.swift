import Foundation

/// The program that the service runs.
struct ServiceProgram: Sendable {
  /// The absolute path for the unit.
  let path: String

  /// Returns the program of this process, by the path under which upgrades replace it: a link in `PATH` to the running
  /// file, such as `/usr/local/bin/watchify`, is preferred to the file of one version that it refers to.
  static func running() -> ServiceProgram? {
    guard let file = realPath("/proc/self/exe") else { return nil }
    let name = URL(fileURLWithPath: CommandLine.arguments.first ?? "").lastPathComponent
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
    let link = folders.map { "\($0)/\(name)" }.first { realPath($0) == file }
    return ServiceProgram(path: link ?? file)
  }

  /// Why the path may stop working or is unsafe, as a sentence with advice; `nil` if it is fine.
  var objection: String? {
    let parts = path.split(separator: "/")
    let copy = "Copy it to ~/.local/bin or install the package, and run 'watchify service install' from there."
    if parts.contains(where: { $0 == ".build" || $0.hasPrefix(".build-") }) {
      return "The service runs a program in a build folder, which the next build replaces or deletes. \(copy)"
    }
    if path.hasPrefix("/tmp/") || path.hasPrefix("/var/tmp/") {
      return "The service runs a program in a folder for temporary files, which the system deletes. \(copy)"
    }
    if let part = Self.writableByOthers(path) {
      return "Other users can replace \(part), which the service runs. \(copy)"
    }
    return nil
  }

  /// Returns the first part of a path that any user may replace; a folder with the sticky bit protects its entries.
  private static func writableByOthers(_ path: String) -> String? {
    var part = path
    while part.count > 1 {
      var status = stat()
      if stat(part, &status) == 0, status.st_mode & 0o002 != 0, status.st_mode & UInt32(S_ISVTX) == 0 { return part }
      part = (part as NSString).deletingLastPathComponent
    }
    return nil
  }

  /// Returns whether the file of a running process was replaced or deleted since its start, by an upgrade for example.
  static func isReplaced(inProcess identifier: Int32) -> Bool {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/\(identifier)/exe", &buffer, buffer.count)
    guard count > 0 else { return false }
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self).hasSuffix(" (deleted)")
  }

  private static func realPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
