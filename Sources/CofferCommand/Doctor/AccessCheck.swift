import Coffer
import CofferFileSystem
import CofferFiles
import CofferTerminal
import Foundation

/// A check for parts of a store that this user may not use, such as those that root has left behind. For root, it finds
/// those that the owner of the store may not use.
struct AccessCheck {
  /// The name of the store in findings.
  private let store: String
  private let path: String
  /// The control directory; `nil` for a database.
  private let control: String?
  /// The user who must be able to use the store, and the directory or file that belongs to this user.
  private let user: uid_t
  private let reference: String?

  /// A file or directory of the store, with the rights that are needed on a file.
  private struct Part {
    let path: String
    var rights = R_OK
    /// Whether the store cannot be used without it.
    var isNeeded = true
  }

  /// The number of parts that are named.
  private static let limit = 8

  /// - Parameters:
  ///   - path: the path of the store, a directory if it has a file per key.
  ///   - control: its control directory; `nil` for a database.
  init(_ store: String, at path: String, control: String?) {
    func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
    let path = resolved(path)
    (self.store, self.path, self.control) = (store, path, control.map(resolved))
    // A file may be in a directory that users share: what root creates beside it belongs to its owner, too.
    let owned = Self.isDirectory(path) ? [path] : [path, PathParts(path).parent]
    let owners = owned.map { Self.status($0)?.st_uid }
    let user = geteuid() != 0 ? geteuid() : owners.compactMap { $0 }.first { $0 != 0 } ?? 0
    self.user = user
    reference = owners.firstIndex(of: user).map { owned[$0] }
  }

  func all() -> [Finding] {
    let found = parts().compactMap(finding)
    guard found.count > Self.limit else { return found }
    let rest = found.dropFirst(Self.limit)
    let message = "The same is true of \(counted(rest.count, "other part")) of the store."
    let isProblem = rest.contains { $0.verdict == .problem }
    let fix = "Follow the advice above, and run this command again."
    return found.prefix(Self.limit) + [
      isProblem ? .problem(store, message, fix: fix) : .warning(store, message, fix: fix)
    ]
  }

  /// Whether the user may not read the database, the journal or a directory on the way to them, so that no other
  /// check can succeed.
  var isBarred: Bool {
    parts().contains { part in
      let isOnTheWay = part.path == path || part.path == control.map { $0 + "/journal.db" }
      return (isOnTheWay || Self.isDirectory(part.path)) && finding(about: part)?.verdict == .problem
    }
  }

  /// Whether the user may write to the store. A reader opens fewer files.
  private var isWriter: Bool {
    let directory = control ?? PathParts(path).parent
    guard user != geteuid() else { return faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) == 0 }
    return Self.status(directory).map { mayUse(directory, $0, W_OK) } ?? true
  }

  /// The parts that the user of the store opens, which may be missing. Other files there, such as the log of a lost
  /// journal, prevent nothing.
  private func parts() -> [Part] {
    let isWriter = isWriter
    guard let control else { return Self.database(path, isWriter) }
    let shared = PathParts(control).parent  // The one of all suites of preferences.
    let directories = [shared, control].filter { $0 != PathParts(path).parent }.map { Part(path: $0) }
    guard Self.isDirectory(control) else { return directories }
    let values = Self.isDirectory(path) ? Self.entries(path).filter(Self.isValue) : [path]
    let inside = ["staged", "retained", "names", "quarantine", "seal"] + (isWriter ? ["owners", "copy"] : [])
    // What a writer that was killed has not completed is in files of this name.
    let contents = ["staged", "retained", "names"].flatMap { Self.entries(control + "/" + $0) }
      .filter { !$0.hasSuffix(".new") }
    let read: [String] = values + inside.map { control + "/" + $0 } + contents
    var parts = directories + Self.database(control + "/journal.db", isWriter)
    parts += read.map { Part(path: $0) }
    guard isWriter else { return parts }
    let written = [control + "/attributes"] + Self.entries(control + "/owners")
    parts += written.map { Part(path: $0, rights: R_OK | W_OK) }
    parts += Self.entries(control + "/quarantine").map { Part(path: $0, isNeeded: false) }
    return parts
  }

  private static func database(_ path: String, _ isWriter: Bool) -> [Part] {
    guard isWriter else { return ["", "-wal", "-shm"].map { Part(path: path + $0) } }
    let files = ["", "-journal", "-wal", "-shm", "-wake", "-lock"].map { path + $0 }
    // The logs of writes that were accepted and not committed: without them, the values can be read and written.
    let logs = [path + "-pending"] + entries(path + "-pending")
    return files.map { Part(path: $0, rights: R_OK | W_OK) }
      + logs.map { Part(path: $0, rights: R_OK | W_OK, isNeeded: false) }
  }

  private static func entries(_ directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted().map { directory + "/" + $0 }
  }

  /// Whether a path in a directory of values is that of a value: other files there do not belong to the store.
  private static func isValue(_ path: String) -> Bool {
    let name = PathParts(path).last
    return (FileName.key(of: name) != nil || FileName.isHashed(name)) && !isDirectory(path)
  }

  private func finding(about part: Part) -> Finding? {
    let path = part.path
    guard let status = Self.status(path) else { return nil }
    let isDirectory = status.st_mode & S_IFMT == S_IFDIR
    // A directory of this user without rights is what the other checks report.
    guard isDirectory ? status.st_uid != user : status.st_mode & S_IFMT == S_IFREG else { return nil }
    let reading = isDirectory ? R_OK | X_OK : R_OK
    let needed = isDirectory ? (path == self.path ? reading : reading | W_OK) : part.rights
    guard !mayUse(path, status, needed) else { return nil }
    let mayRead = mayUse(path, status, reading)
    // Nothing is missing in a store that is open for reading only as a whole.
    let parent = PathParts(path).parent
    guard !mayRead || Self.status(parent).map({ mayUse(parent, $0, W_OK) }) ?? false else { return nil }
    let (owner, action) = (Self.name(of: status.st_uid), mayRead ? "write" : "read")
    let message =
      geteuid() == user
      ? "This user may not \(action) \(path), which belongs to \(owner)."
      : "\(path) belongs to \(owner), so \(Self.name(of: user)), whose store it is, may not \(action) it."
    let fix = advice(path, status, owner)
    return mayRead || !part.isNeeded ? .warning(store, message, fix: fix) : .problem(store, message, fix: fix)
  }

  private func advice(_ path: String, _ status: stat, _ owner: String) -> String {
    guard status.st_uid != user else { return "chmod u+rw \(path.quotedForShell)" }
    guard let reference else { return "Use the store as \(owner)." }
    let isInside = control.map { path.hasPrefix($0 + "/") } ?? false
    let target = isInside ? control ?? path : path
    let isRecursive = status.st_mode & S_IFMT == S_IFDIR || isInside
    return "As root: chown \(isRecursive ? "-R " : "")--reference=\(reference.quotedForShell) \(target.quotedForShell)"
  }

  /// Whether the user has rights on a file. For another user than this one, they are derived from its mode.
  private func mayUse(_ path: String, _ status: stat, _ rights: Int32) -> Bool {
    guard user != geteuid() else {
      return faccessat(AT_FDCWD, path, rights, AT_EACCESS) == 0 || (errno != EACCES && errno != EPERM)
    }
    let bits = mode_t(rights)
    return status.st_uid == user || status.st_mode & bits == bits
      || status.st_mode >> 3 & bits == bits && reference.flatMap(Self.status)?.st_gid == status.st_gid
  }

  private static func status(_ path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    status(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }

  private static func name(of user: uid_t) -> String {
    var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name else {
      return "user \(user)"
    }
    return String(cString: name)
  }
}
