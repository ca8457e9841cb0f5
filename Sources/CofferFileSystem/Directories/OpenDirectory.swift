package import CofferCore
package import Foundation

/// A directory that is held open, so that files are replaced in it even if its path leads elsewhere meanwhile.
package struct OpenDirectory: ~Copyable, Sendable {
  private let descriptor: Int32
  private let path: String

  /// Opens an existing directory.
  package init(_ path: String) throws(StorageError) {
    try Self.refuseForeignLinks(in: path)
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .fileSystem("open", path: path, errno: errno) }
    self.descriptor = descriptor
    self.path = path
  }

  /// Takes ownership of an open descriptor.
  init(_ descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Creates a directory and its missing parents with access for this user only (0700).
  package static func make(_ path: String) throws(StorageError) {
    try refuseForeignLinks(in: path)
    try makeWithParents(path)
  }

  private static func makeWithParents(_ path: String) throws(StorageError) {
    var failure = FileCreation.makeDirectory(path) == 0 ? 0 : errno
    let parent = PathParts(path).parent
    if failure == ENOENT, parent != path {
      try makeWithParents(parent)
      failure = FileCreation.makeDirectory(path) == 0 ? 0 : errno
    }
    if failure == 0 { return try sync(parent) }
    // For an existing root directory, some systems report that it is busy or read-only.
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else { throw .fileSystem("mkdir", path: path, errno: ENOTDIR) }
      return
    }
    throw .creation("mkdir", path: path, errno: failure)
  }

  /// Syncs a directory to the device, so that files created, renamed or removed in it survive power loss.
  package static func sync(_ path: String) throws(StorageError) {
    do {
      try OpenDirectory(path).sync()
    } catch {
      // A user who may write into a directory but not list it cannot open it, and so cannot sync it.
      guard error.code == .permissionDenied else { throw error }
    }
  }

  /// Syncs the directory to the device, so that files created, renamed or removed in it survive power loss.
  package borrowing func sync() throws(StorageError) {
    // Some file systems do not support syncing a directory.
    let failure = fsync(descriptor) == 0 ? 0 : errno
    guard failure == 0 || failure == EINVAL || failure == ENOTSUP else {
      throw StorageError(
        .outcomeUnknown, "The device did not confirm the change of a directory.",
        advice: "The change may or may not survive power loss. Check the device.",
        underlying: StorageError.fileSystem("fsync", path: path, errno: failure).underlying)
    }
  }

  /// Replaces a file atomically and durably: a reader, even after power loss, finds either the old or the new bytes.
  ///
  /// A new file is created with mode 0600; an existing one keeps its permissions. A symbolic link is itself replaced;
  /// its target is left unchanged.
  /// - Parameters:
  ///   - scratch: the temporary name of the new file; random by default. A leftover file of that name is removed, so
  ///     only one caller at a time may use it.
  ///   - isWanted: called with the stamp of the new file just before the file is replaced; if it returns `false`,
  ///     nothing is changed.
  /// - Returns: The stamp of the new file, or `nil` if `isWanted` returned `false`.
  @discardableResult
  package borrowing func replace(
    _ name: String, with data: Data, scratch: String? = nil, onlyIf isWanted: (FileStamp) -> Bool = { _ in true }
  ) throws(StorageError) -> FileStamp? {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
    else { throw .fileSystem("open", path: "\(path)/\(name)", errno: EISDIR) }
    let old = try statusOfFile(name)
    let temporary = scratch ?? Self.randomName
    return try put(data, as: temporary, like: old) { stamp in
      guard isWanted(stamp) else {
        unlinkat(descriptor, temporary, 0)
        return (0, nil)
      }
      return renameat(descriptor, temporary, descriptor, name) == 0 ? (0, stamp) : (errno, nil)
    }
  }

  /// Creates a file atomically, with mode 0600, unless one of that name exists.
  /// - Returns: Whether the file was created.
  package borrowing func create(_ name: String, with data: Data) throws(StorageError) -> Bool {
    guard try statusOfFile(name) == nil else { return false }
    let temporary = Self.randomName
    let made = try put(data, as: temporary, like: nil) { stamp in
      let failure = linkat(descriptor, temporary, descriptor, name, 0) == 0 ? 0 : errno
      unlinkat(descriptor, temporary, 0)
      return failure == EEXIST ? (0, nil) : (failure, stamp)
    }
    return made != nil
  }

  private static var randomName: String { ".coffer-\(String(UInt64.random(in: .min ... .max), radix: 16)).tmp" }

  /// Writes a temporary file and calls `publish`, which returns an `errno` or 0, and the stamp to return.
  private borrowing func put(
    _ data: Data, as temporary: String, like old: stat?,
    _ publish: (FileStamp) -> (failure: Int32, stamp: FileStamp?)
  ) throws(StorageError) -> FileStamp? {
    // `O_EXCL` follows no link, even if the name was guessed.
    let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_EXCL
    var file = FileCreation.open(temporary, in: descriptor, flags)
    if file < 0, errno == EEXIST, unlinkat(descriptor, temporary, 0) == 0 {
      file = FileCreation.open(temporary, in: descriptor, flags)
    }
    guard file >= 0 else { throw .creation("open", path: "\(path)/\(temporary)", errno: errno) }
    let published: FileStamp?
    do throws(StorageError) {
      let (failure, stamp) = publish(try fill(file, with: data, like: old))
      guard failure == 0 else { throw .fileSystem("rename", path: "\(path)/\(temporary)", errno: failure) }
      published = stamp
    } catch {
      unlinkat(descriptor, temporary, 0)
      throw error
    }
    if published != nil { try sync() }
    return published
  }

  /// Returns the status of a regular file; `nil` if there is none or a link. Throws for any other kind of file.
  private borrowing func statusOfFile(_ name: String) throws(StorageError) -> stat? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      if errno == ENOENT { return nil }
      throw .fileSystem("stat", path: "\(path)/\(name)", errno: errno)
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return status
    case S_IFLNK: return nil
    case S_IFDIR: throw .fileSystem("open", path: "\(path)/\(name)", errno: EISDIR)
    default:
      throw StorageError(
        .inputOutput, "There is a device, pipe or socket where a file should be.",
        advice: "Give the path of a file. Nothing was changed.")
    }
  }

  /// Writes, syncs and closes a new file: closed under its temporary name, it is no event of the file that it replaces.
  private borrowing func fill(_ file: Int32, with data: Data, like old: stat?) throws(StorageError) -> FileStamp {
    defer { close(file) }
    var failure = writeAll(data, to: file)
    if failure == 0, let old {
      var rights = old.st_mode & 0o777
      // If the group cannot be kept, its permissions are removed: another group must not receive them.
      if fchown(file, old.st_uid, old.st_gid) != 0, fchown(file, uid_t.max, old.st_gid) != 0 { rights &= ~0o070 }
      if fchmod(file, rights) != 0 { failure = errno }
    }
    if failure == 0 { failure = flush(file) }
    var status = stat()
    if failure == 0, fstat(file, &status) != 0 { failure = errno }
    guard failure == 0 else { throw .fileSystem("write", path: path, errno: failure) }
    return FileStamp(status)
  }

  /// Throws if a path leads through a symbolic link of another user, which could redirect writes anywhere.
  ///
  /// Links of this user and of the system (`/tmp` on macOS) are followed.
  package static func refuseForeignLinks(in path: String) throws(StorageError) {
    let parts = PathParts(path)
    var ancestor = ""
    for name in parts.names {
      ancestor += ancestor.isEmpty && !parts.isAbsolute ? name : "/" + name
      var status = stat()
      guard lstat(ancestor, &status) == 0 else { return }  // Not a link; the next call on the path reports the error.
      guard status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0, status.st_uid != geteuid() else { continue }
      throw StorageError(
        .permissionDenied, "\(ancestor.escapingControlCharacters) is a symbolic link of another user.",
        advice: "If you trust its target, give the path of that. Nothing was changed.")
    }
  }
}
