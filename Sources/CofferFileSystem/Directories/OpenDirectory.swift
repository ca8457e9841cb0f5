package import CofferCore
package import Foundation

/// A directory that is held open, so that files are replaced in this one even if its path leads elsewhere meanwhile.
package struct OpenDirectory: ~Copyable {
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

  /// Takes over an open descriptor.
  init(_ descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Makes a directory and those above it where they are missing, for this user alone.
  package static func make(_ path: String) throws(StorageError) {
    try refuseForeignLinks(in: path)
    try makeWithParents(path)
  }

  private static func makeWithParents(_ path: String) throws(StorageError) {
    var failure = mkdir(path, 0o700) == 0 ? 0 : errno
    let parent = PathParts(path).parent
    if failure == ENOENT, parent != path {
      try makeWithParents(parent)
      failure = mkdir(path, 0o700) == 0 ? 0 : errno
    }
    if failure == 0 { return try sync(parent) }
    // Some systems say that the root is busy or read-only before they say that it exists.
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFDIR else { throw .fileSystem("mkdir", path: path, errno: ENOTDIR) }
      return
    }
    throw .fileSystem("mkdir", path: path, errno: failure)
  }

  /// Makes what was created, renamed or removed in a directory survive power loss.
  package static func sync(_ path: String) throws(StorageError) {
    do {
      try OpenDirectory(path).sync()
    } catch {
      // A user who may write into a directory but not list it cannot open it, and so cannot sync it.
      guard error.code == .permissionDenied else { throw error }
    }
  }

  /// Makes what was created, renamed or removed here survive power loss.
  package borrowing func sync() throws(StorageError) {
    // Some file systems have nothing to sync for a directory and say so.
    let failure = fsync(descriptor) == 0 ? 0 : errno
    guard failure == 0 || failure == EINVAL || failure == ENOTSUP else {
      throw StorageError(
        .outcomeUnknown, "The device does not confirm the change of a directory.",
        advice: "The change may or may not survive power loss. Check the device.",
        underlying: StorageError.fileSystem("fsync", path: path, errno: failure).underlying)
    }
  }

  /// Replaces the file of that name as a whole: whoever reads it, also after power loss, sees the old bytes or the new.
  ///
  /// A new file is for this user alone (0600), an old one keeps its rights. A symbolic link of that name is replaced
  /// itself; what it led to stays as it is.
  /// - Parameters:
  ///   - scratch: the name that the new file has until it is whole; what a killed caller has left under it is removed,
  ///     so no two may use it at once. A random one unless given.
  ///   - isReserved: whether `Directory.reserve(_:count:)` may have made the scratch file, whose room is used then.
  ///   - isWanted: asked last; when it says no, everything stays as it is.
  /// - Returns: What the new file is recognised by; `nil` when it was not wanted.
  @discardableResult
  package borrowing func replace(
    _ name: String, with data: Data, scratch: String? = nil, isReserved: Bool = false,
    onlyIf isWanted: () -> Bool = { true }
  ) throws(StorageError) -> FileStamp? {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
    else { throw .fileSystem("open", path: "\(path)/\(name)", errno: EISDIR) }
    let old = try statusOfFile(name)
    var keepsRoom = false
    if isReserved, let scratch { keepsRoom = try isOwnFile(scratch) }
    if let scratch, !keepsRoom { unlinkat(descriptor, scratch, 0) }
    let temporary = scratch ?? Self.randomName
    return try put(data, as: temporary, like: old, keepsRoom: keepsRoom) { stamp in
      guard isWanted() else {
        unlinkat(descriptor, temporary, 0)
        return (0, nil)
      }
      return renameat(descriptor, temporary, descriptor, name) == 0 ? (0, stamp) : (errno, nil)
    }
  }

  /// Makes a file (0600) of that name, whole or not at all; one that is there stays.
  /// - Returns: Whether there was none.
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

  /// Makes a file and gives it to `place`, which returns an `errno` or 0, and what `put` is to return.
  private borrowing func put(
    _ data: Data, as temporary: String, like old: stat?, keepsRoom: Bool = false,
    _ place: (FileStamp) -> (failure: Int32, stamp: FileStamp?)
  ) throws(StorageError) -> FileStamp? {
    // `O_EXCL` follows no link, whoever may have guessed the name.
    let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (keepsRoom ? 0 : O_CREAT | O_EXCL)
    let file = openat(descriptor, temporary, flags, 0o600)
    guard file >= 0 else { throw .fileSystem("open", path: "\(path)/\(temporary)", errno: errno) }
    let placed: FileStamp?
    do throws(StorageError) {
      defer { close(file) }
      let (failure, stamp) = place(try fill(file, with: data, like: old))
      guard failure == 0 else { throw .fileSystem("rename", path: "\(path)/\(temporary)", errno: failure) }
      placed = stamp
    } catch {
      unlinkat(descriptor, temporary, 0)
      throw error
    }
    if placed != nil { try sync() }
    return placed
  }

  /// Whether there is a file of this user's alone, without another name.
  private borrowing func isOwnFile(_ name: String) throws(StorageError) -> Bool {
    guard let status = try statusOfFile(name) else { return false }
    return status.st_nlink == 1 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
  }

  /// What is there now; `nil` for nothing and for a link. A device or pipe is not something to replace.
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

  private borrowing func fill(_ file: Int32, with data: Data, like old: stat?) throws(StorageError) -> FileStamp {
    var failure = writeAll(data, to: file)
    if failure == 0, ftruncate(file, off_t(data.count)) != 0 { failure = errno }
    if failure == 0, let old {
      var rights = old.st_mode & 0o777
      // The group's rights are the old group's: another one does not get them.
      if fchown(file, old.st_uid, old.st_gid) != 0, fchown(file, uid_t.max, old.st_gid) != 0 { rights &= ~0o070 }
      if fchmod(file, rights) != 0 { failure = errno }
    }
    if failure == 0 { failure = flush(file) }
    var status = stat()
    if failure == 0, fstat(file, &status) != 0 { failure = errno }
    guard failure == 0 else { throw .fileSystem("write", path: path, errno: failure) }
    return FileStamp(status)
  }

  /// Refuses a path through symbolic links that others have planted: they could lead our writes anywhere.
  ///
  /// Links of this user and of the system (`/tmp` on macOS) are followed, as everywhere else.
  package static func refuseForeignLinks(in path: String) throws(StorageError) {
    let parts = PathParts(path)
    var place = ""
    for name in parts.names {
      place += place.isEmpty && !parts.isAbsolute ? name : "/" + name
      var status = stat()
      guard lstat(place, &status) == 0 else { return }  // What is missing is no link; the next call says what is wrong.
      guard status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0, status.st_uid != geteuid() else { continue }
      throw StorageError(
        .permissionDenied, "\(place.escapingControlCharacters) is a symbolic link of another user.",
        advice: "Give the path that it leads to, if that is right. Nothing was changed.")
    }
  }
}
