import Coffer
import CofferEncryption
import CofferFileSystem
import CofferTerminal
import Foundation

/// The checks of what stores need of the system.
enum SystemChecks {
  /// - Parameters:
  ///   - needed: The directories that the checked stores need. Faults of other directories are only warnings.
  ///   - isAsked: Whether the stores were named as operands, in which case other directories are not checked.
  static func all(needed: Set<SystemDirectories.Purpose>, isAsked: Bool) -> [Finding] {
    let directories = SystemDirectories.Purpose.forStores.filter { !isAsked || needed.contains($0) }
    return [home(needed), watches()] + memory()
      + directories.map { needed.contains($0) ? directory($0) : directory($0).asWarning }
  }

  private static func home(_ needed: Set<SystemDirectories.Purpose>) -> Finding {
    if let home = variable("HOME"), home.hasPrefix("/") { return .ok("home", home) }
    let replacements = ["XDG_DATA_HOME", "XDG_CONFIG_HOME"]
    guard replacements.contains(where: { variable($0)?.hasPrefix("/") != true }) else {
      return .ok("home", "not needed: \(replacements.joined(separator: " and ")) are set")
    }
    let missing = needed.compactMap(\.variable).filter { variable($0)?.hasPrefix("/") != true }
    guard !missing.isEmpty else { return .ok("home", "not needed by these stores") }
    return .problem(
      "home", "HOME is not set to an absolute path.", fix: "Set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME.")
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Checks whether changes by other processes can be observed through inotify.
  private static func watches() -> Finding {
    let failure = FileWatcher.failureToWatch(NSTemporaryDirectory())
    guard failure == 0 else {
      return .warning(
        "change notices",
        "The system has no watches left (\(String(cString: strerror(failure)))): "
          + "changes by other processes are polled for and arrive late.",
        fix: "As root: sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288")
    }
    return .ok("change notices", "changes by other processes arrive at once")
  }

  /// Returns a warning if 256 KiB cannot be kept out of swap: enough for a passphrase and some hundred secrets.
  private static func memory() -> [Finding] {
    let failure = SecretMemory.lockFailure(count: 256 << 10)
    guard failure != 0 else { return [] }
    let limit = SecretMemory.lockLimit.map { " (the limit is \(byteCount($0)))" } ?? ""
    return [
      .warning(
        "memory", "Secrets cannot be locked in memory\(limit): they may be written to swap.",
        fix: "Raise the limit: 'ulimit -l 8192', or LimitMEMLOCK=8M in the unit of a service.")
    ]
  }

  private static func directory(_ purpose: SystemDirectories.Purpose) -> Finding {
    do {
      return usable(purpose.rawValue, try SystemDirectories.current.url(for: purpose).path)
    } catch {
      return .problem(purpose.rawValue, error)
    }
  }

  /// Checks whether files can be created in a directory, or in its nearest existing ancestor.
  static func usable(_ subject: String, _ path: String) -> Finding {
    var existing = path
    do {
      while try !PathParts.exists(existing), existing != "/" { existing = PathParts(existing).parent }
    } catch {
      return unreachable(subject, existing, error)
    }
    let quoted = existing.quotedForShell
    var status = stat()
    guard stat(existing, &status) == 0 else {
      return unreachable(subject, existing, .fileSystem("stat", path: existing, errno: errno))
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return .problem(
        subject, "\(existing) is not a directory, but one is required there.", fix: "mv \(quoted) \(quoted).old")
    }
    guard access(existing, W_OK | X_OK) == 0 else {
      guard errno == EROFS else {
        return .problem(
          subject, "This user may not create files in \(existing).", fix: "As its owner: chmod u+rwx \(quoted)")
      }
      return .problem(
        subject, "\(existing) is on a file system that is mounted read-only.",
        fix: "As root: mount -o remount,rw \"$(findmnt -no TARGET --target \(quoted))\"")
    }
    if let system = FileSystemKind(existing), system.isRemote {
      return .warning(
        subject,
        "\(existing) is on a network file system (\(system.name)): its locks and change notices do not reach others.",
        fix: "Keep stores on a local disk.")
    }
    if let free = FileSystemKind(existing)?.freeBytes, free < 16 << 20 {
      let message = "\(existing) has \(byteCount(free)) left."
      let fix = "Free some space: a commit needs some megabytes."
      // A new store takes about 100 KiB.
      return free < 256 << 10 ? .problem(subject, message, fix: fix) : .warning(subject, message, fix: fix)
    }
    return .ok(subject, path)
  }

  /// Returns the problem that prevents the inspection of a path.
  private static func unreachable(_ subject: String, _ path: String, _ error: StorageError) -> Finding {
    switch error.underlying?.code {
    case Int(EACCES):
      return .problem(
        subject, "This user may not search \(PathParts(path).parent).",
        fix: "As its owner: chmod u+rwx \(PathParts(path).parent.quotedForShell)")
    case Int(ENOTDIR):
      let file = fileInTheWay(path)
      let quoted = file.quotedForShell
      return .problem(
        subject, "\(file) is not a directory, but one is required there.", fix: "mv \(quoted) \(quoted).old")
    default: return .problem(subject, error)
    }
  }

  private static func fileInTheWay(_ path: String) -> String {
    var ancestor = path
    while access(ancestor, F_OK) != 0, ancestor != "/" { ancestor = PathParts(ancestor).parent }
    return ancestor
  }
}

extension SystemDirectories.Purpose {
  /// The environment variable that overrides the directory below HOME, or `nil`.
  fileprivate var variable: String? {
    switch self {
    case .applicationSupport: "XDG_DATA_HOME"
    case .preferences: "XDG_CONFIG_HOME"
    case .documents, .caches: nil
    }
  }

  /// The directories in which stores lie that have no path in their location.
  fileprivate static let forStores: [SystemDirectories.Purpose] = [.applicationSupport, .preferences]
}
