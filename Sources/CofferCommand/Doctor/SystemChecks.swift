import Coffer
import CofferCrypto
import CofferFileSystem
import CofferTerminal
import Foundation

/// What every home needs of the system.
enum SystemChecks {
  /// - Parameters:
  ///   - needed: the directories that the stores need which are looked at. What is wrong with HOME or with another
  ///     directory keeps none of them from working.
  ///   - isAsked: whether those stores were named: then other directories are of no interest.
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

  /// Whether changes that other processes make are heard at once.
  private static func watches() -> Finding {
    let failure = FileWatcher.failureToWatch(NSTemporaryDirectory())
    guard failure == 0 else {
      return .warning(
        "change notices",
        "The system gives no more watches (\(String(cString: strerror(failure)))): "
          + "changes by other processes are looked for, and heard late.",
        fix: "As root: sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288")
    }
    return .ok("change notices", "other processes are heard at once")
  }

  /// Nothing to say where secrets can be kept out of swap: 256 KiB, for a passphrase and some hundred secrets.
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

  /// Whether files can be made in a directory, or in the nearest one above it that exists.
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
        subject, "\(existing) is no directory, and one is needed there.", fix: "mv \(quoted) \(quoted).old")
    }
    guard access(existing, W_OK | X_OK) == 0 else {
      guard errno == EROFS else {
        return .problem(
          subject, "This user may not make files in \(existing).", fix: "As its owner: chmod u+rwx \(quoted)")
      }
      return .problem(
        subject, "\(existing) is on a file system that is mounted read-only.",
        fix: "As root: mount -o remount,rw \"$(findmnt -no TARGET --target \(quoted))\"")
    }
    if let system = FileSystemKind(existing), system.isRemote {
      return .warning(
        subject, "\(existing) is on a network file system (\(system.name)): its locks and notices do not reach others.",
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

  /// What keeps a path from being looked at.
  private static func unreachable(_ subject: String, _ path: String, _ error: StorageError) -> Finding {
    switch error.underlying?.code {
    case Int(EACCES):
      return .problem(
        subject, "This user may not look into \(PathParts(path).parent).",
        fix: "As its owner: chmod u+rwx \(PathParts(path).parent.quotedForShell)")
    case Int(ENOTDIR):
      let file = fileInTheWay(path)
      let quoted = file.quotedForShell
      return .problem(subject, "\(file) is no directory, and one is needed there.", fix: "mv \(quoted) \(quoted).old")
    default: return .problem(subject, error)
    }
  }

  private static func fileInTheWay(_ path: String) -> String {
    var place = path
    while access(place, F_OK) != 0, place != "/" { place = PathParts(place).parent }
    return place
  }
}

extension SystemDirectories.Purpose {
  /// The variable that says where it is, in place of HOME.
  fileprivate var variable: String? {
    switch self {
    case .applicationSupport: "XDG_DATA_HOME"
    case .preferences: "XDG_CONFIG_HOME"
    case .documents, .caches: nil
    }
  }

  /// Those in which stores are by themselves.
  fileprivate static let forStores: [SystemDirectories.Purpose] = [.applicationSupport, .preferences]
}
