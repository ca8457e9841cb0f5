import CofferTerminal
import Foundation

/// The unit files of this user, in `$XDG_CONFIG_HOME/systemd/user`.
struct UnitFiles: Sendable {
  /// A unit of Watchify, with the target that starts it.
  enum Name: String, CaseIterable, Sendable {
    case service = "watchify.service"
    case socket = "watchify.socket"

    /// The folder of the links that enable it.
    fileprivate var wants: String { self == .service ? "default.target.wants" : "sockets.target.wants" }
  }

  let folder: URL

  /// The folder of this user.
  static func ofUser() -> UnitFiles {
    let environment = ProcessInfo.processInfo.environment
    let given = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
    let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
    let base = given ?? (home ?? FileManager.default.homeDirectoryForCurrentUser).appendingPathComponent(".config")
    return UnitFiles(folder: base.appendingPathComponent("systemd/user"))
  }

  func path(_ name: Name) -> String { folder.appendingPathComponent(name.rawValue).path }

  private func link(_ name: Name) -> String {
    folder.appendingPathComponent(name.wants).appendingPathComponent(name.rawValue).path
  }

  /// Returns how a unit came about; `nil` if there is none. A link, such as that of a masked unit, is foreign.
  func origin(_ name: Name) -> ServiceUnit.Origin? {
    if (try? FileManager.default.destinationOfSymbolicLink(atPath: path(name))) != nil { return .foreign }
    guard let data = FileManager.default.contents(atPath: path(name)) else {
      return FileManager.default.fileExists(atPath: path(name)) ? .foreign : nil
    }
    return ServiceUnit.origin(of: String(decoding: data, as: UTF8.self))
  }

  /// Whether the user's manager starts the unit.
  func isEnabled(_ name: Name) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: link(name))) != nil
  }

  /// The names of the user's own additions, which Watchify never changes.
  func additions() -> [String] {
    Name.allCases.map { "\($0.rawValue).d" }.filter {
      FileManager.default.fileExists(atPath: folder.appendingPathComponent($0).path)
    }
  }

  /// Writes a unit and enables it. The file is replaced atomically.
  /// - Throws: `CommandError` if the file is not an unchanged one of Watchify, unless `isForced`, or cannot be written.
  func install(_ unit: ServiceUnit, as name: Name, isForced: Bool) throws {
    try check(name, isForced, action: "replaced", command: "install")
    let manager = FileManager.default
    do {
      let wants = folder.appendingPathComponent(name.wants)
      try manager.createDirectory(at: wants, withIntermediateDirectories: true)
      // Written through, a link would change the file that it refers to.
      if (try? manager.destinationOfSymbolicLink(atPath: path(name))) != nil {
        try manager.removeItem(atPath: path(name))
      }
      try Data(unit.text.utf8).write(to: URL(fileURLWithPath: path(name)), options: .atomic)
      chmod(path(name), 0o644)
      if !isEnabled(name) {
        try manager.createSymbolicLink(atPath: link(name), withDestinationPath: path(name))
      }
    } catch {
      throw CommandError(
        .failure, "notInstalled", "\(path(name)) cannot be written: \(error.localizedDescription.oneLine(limit: 200))",
        advice: "Check the free space and the permissions of the folder, then install again.")
    }
  }

  /// Throws if a unit must not be changed.
  func check(_ name: Name, _ isForced: Bool, action: String, command: String) throws {
    guard !isForced, let origin = origin(name), origin != .written else { return }
    let what = origin == .edited ? "was edited since Watchify wrote it" : "was not written by Watchify"
    throw CommandError(
      .failure, "unitChanged", "\(path(name)) \(what), and was not \(action).",
      advice: "Keep your changes in \(name.rawValue).d ('systemctl --user edit \(name.rawValue)'), "
        + "or discard them with 'watchify service \(command) --force'.")
  }

  /// Deletes a unit and the link that enables it, and returns whether there was one.
  /// - Throws: `CommandError` if it cannot be deleted.
  func remove(_ name: Name) throws -> Bool {
    guard origin(name) != nil || isEnabled(name) else { return false }
    for path in [link(name), path(name)] where unlink(path) != 0 && errno != ENOENT {
      throw CommandError(
        .failure, "notRemoved", "\(path) cannot be deleted: \(String(cString: strerror(errno))).",
        advice: "Check the permissions of its folder, then try again.")
    }
    rmdir(folder.appendingPathComponent(name.wants).path)  // Fails, as it should, unless the folder is empty.
    return true
  }
}
