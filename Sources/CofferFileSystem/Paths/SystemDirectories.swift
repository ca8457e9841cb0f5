package import CofferCore
package import Foundation

/// The standard directories for the files of this user and this application.
///
/// On Apple platforms `FileManager` provides them. Elsewhere they follow the XDG Base Directory Specification, and the
/// environment is read at each call.
package struct SystemDirectories: Sendable {
  /// The purpose of a directory.
  package enum Purpose: String, CaseIterable, Sendable {
    case documents = "documents"
    case caches = "caches"
    case applicationSupport = "application support"
    case preferences = "preferences"
  }

  /// The directories used in the current task. Tests replace them.
  @TaskLocal package static var current = SystemDirectories()

  /// The bundle identifier of the application, such as `com.example.shop`, if it has one.
  package let bundleIdentifier: String?
  /// The name of the running program, which need not be unique.
  package let processName: String
  private let variable: @Sendable (_ name: String) -> String?

  package init(
    bundleIdentifier: String? = Bundle.main.bundleIdentifier,
    processName: String = ProcessInfo.processInfo.processName,
    variable: @escaping @Sendable (_ name: String) -> String? = { getenv($0).map { String(cString: $0) } }
  ) {
    self.bundleIdentifier = bundleIdentifier
    self.processName = processName
    self.variable = variable
  }

  /// Returns the URL of a directory, which may not exist yet.
  /// - Throws: `unavailable` if neither the environment nor the system specifies it.
  package func url(for purpose: Purpose) throws(StorageError) -> URL {
    #if canImport(Darwin)
      var found = registered(purpose)
      if purpose == .preferences { found?.appendPathComponent("Preferences", isDirectory: true) }
    #else
      let found =
        switch purpose {
        case .documents: absolute("XDG_DOCUMENTS_DIR") ?? homeDocuments ?? registered(purpose)
        case .caches: absolute("XDG_CACHE_HOME") ?? home(".cache")
        case .applicationSupport: absolute("XDG_DATA_HOME") ?? home(".local/share")
        case .preferences: absolute("XDG_CONFIG_HOME") ?? home(".config")
        }
    #endif
    guard let found else {
      throw StorageError(
        .unavailable, "The system does not say where this user's \(purpose.rawValue) are.",
        advice: "Set HOME, or give the path of a directory.")
    }
    return found
  }

  /// The home directory of this user in the system's user database, independent of the environment.
  package static var registeredHome: String? {
    var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
    var buffer = [CChar](repeating: 0, count: 16 << 10)
    guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil, let home = entry.pw_dir
    else { return nil }
    let path = String(cString: home)
    return path.hasPrefix("/") ? path : nil
  }

  private func registered(_ purpose: Purpose) -> URL? {
    let directory: FileManager.SearchPathDirectory =
      switch purpose {
      case .documents: .documentDirectory
      case .caches: .cachesDirectory
      case .applicationSupport: .applicationSupportDirectory
      case .preferences: .libraryDirectory
      }
    return FileManager.default.urls(for: directory, in: .userDomainMask).first
  }

  private func home(_ path: String) -> URL? { absolute("HOME")?.appendingPathComponent(path, isDirectory: true) }

  /// The documents below HOME: the directory that `user-dirs.dirs` names, as `xdg-user-dir` finds it, or `Documents`;
  /// `nil` without HOME. Foundation looks for both in the home directory of the account instead, which is another one
  /// in a container, a service and a test.
  private var homeDocuments: URL? {
    guard let home = absolute("HOME") else { return nil }
    let config = absolute("XDG_CONFIG_HOME") ?? home.appendingPathComponent(".config", isDirectory: true)
    let file = try? String(contentsOf: config.appendingPathComponent("user-dirs.dirs"), encoding: .utf8)
    let named = file?.split(separator: "\n").compactMap { Self.documents(in: $0, home: home.path) }.last
    return URL(fileURLWithPath: named ?? home.path + "/Documents", isDirectory: true)
  }

  /// Returns the path in a line `XDG_DOCUMENTS_DIR="$HOME/Texts"` or `XDG_DOCUMENTS_DIR="/texts"`; `nil` for others.
  private static func documents(in line: Substring, home: String) -> String? {
    let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    guard parts.count == 2, parts[0] == "XDG_DOCUMENTS_DIR", parts[1].count > 2, parts[1].hasPrefix("\""),
      parts[1].hasSuffix("\"")
    else { return nil }
    let quoted = parts[1].dropFirst().dropLast()
    let isRelative = quoted.hasPrefix("$HOME/")
    guard isRelative || quoted.hasPrefix("/") else { return nil }
    var path = isRelative ? home : ""
    var isEscaped = false
    for character in isRelative ? quoted.dropFirst(5) : quoted {
      isEscaped = !isEscaped && character == "\\"
      if !isEscaped { path.append(character) }
    }
    return path
  }

  /// Returns the directory that a variable names. A relative path is ignored, as the XDG specification requires.
  private func absolute(_ name: String) -> URL? {
    guard let path = variable(name), path.hasPrefix("/") else { return nil }
    return URL(fileURLWithPath: path, isDirectory: true)
  }
}
