import Coffer
import CofferFileSystem
import CofferTerminal
import Foundation

/// What every home needs of the system.
enum SystemChecks {
  static func all() -> [Finding] {
    [home(), watches()] + SystemDirectories.Purpose.forStores.map(directory)
  }

  private static func home() -> Finding {
    if let home = variable("HOME"), home.hasPrefix("/") { return .ok("home", home) }
    let replacements = ["XDG_DATA_HOME", "XDG_CONFIG_HOME"]
    guard replacements.contains(where: { variable($0)?.hasPrefix("/") != true }) else {
      return .ok("home", "not needed: \(replacements.joined(separator: " and ")) are set")
    }
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
    while access(existing, F_OK) != 0, errno == ENOENT || errno == ENOTDIR, existing != "/" {
      existing = PathParts(existing).parent
    }
    let quoted = existing.quotedForShell
    var status = stat()
    guard stat(existing, &status) == 0 else {
      return .problem(
        subject, "This user may not look into \(PathParts(existing).parent).",
        fix: "As its owner: chmod u+rwx \(PathParts(existing).parent.quotedForShell)")
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
      return .problem(
        subject, "\(existing) has \(byteCount(free)) left.", fix: "Free some space: a commit needs some megabytes.")
    }
    return .ok(subject, path)
  }
}

extension SystemDirectories.Purpose {
  /// Those in which stores are by themselves.
  fileprivate static let forStores: [SystemDirectories.Purpose] = [.applicationSupport, .preferences]
}
