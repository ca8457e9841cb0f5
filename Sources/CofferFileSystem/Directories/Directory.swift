package import CofferCore
import CofferLocks
package import Foundation

/// An open directory: its files are reached through it, whatever happens to its path.
///
/// No call follows a symbolic link in the place of a file.
package final class Directory: Sendable {
  private let path: String
  private let backend: String
  private let descriptor: Int32
  private let identity: Identity
  /// The `errno` of a sync that has failed, or 0.
  private let syncFailure = Locked(Int32(0))

  /// Opens a directory; a link that leads to it is followed, since it is the user who gives this path.
  package convenience init(_ path: String, backend: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageError.fileSystem("open", path: path, errno: errno, backend: backend) }
    self.init(descriptor, path: path, backend: backend)
  }

  /// Opens a directory for reading only. One that is missing has no files.
  package convenience init(ifAny path: String, backend: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 || errno == ENOENT else {
      throw StorageError.fileSystem("open", path: path, errno: errno, backend: backend)
    }
    self.init(descriptor, path: path, backend: backend)
  }

  private init(_ descriptor: Int32, path: String, backend: String) {
    self.descriptor = descriptor
    self.path = path
    self.backend = backend
    var status = stat()
    fstat(descriptor, &status)  // It cannot fail for an open directory, and zeros are nobody's identity.
    identity = Identity(status)
  }

  /// What tells a directory from all others.
  private struct Identity: Equatable {
    let device, inode: UInt64

    init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }
  }

  deinit { close(descriptor) }

  /// Whether there is no such directory: then it has no files, and nothing can be written to it.
  private var isMissing: Bool { descriptor < 0 }

  /// Opens a directory in this one, making it (0700) if it is missing.
  /// - Parameter mayMake: `false` to make nothing: a missing one has no files then.
  package func directory(_ name: String, mayMake: Bool = true) throws -> Directory {
    if mayMake {
      if mkdirat(descriptor, name, 0o700) == 0 {
        try sync()
      } else if errno != EEXIST {
        throw failure("mkdir", name)
      }
    }
    let child = isMissing ? -1 : openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard child >= 0 else {
      if !mayMake, isMissing || errno == ENOENT {
        return Directory(-1, path: path + "/" + name, backend: backend)
      }
      guard errno == ENOTDIR || errno == ELOOP else { throw failure("open", name) }
      throw StorageError(
        .notAStore, "There should be a directory at \(path)/\(name), and there is something else.",
        advice: "A symbolic link there is not followed. Move it away. Nothing was changed.", backend: backend)
    }
    return Directory(child, path: path + "/" + name, backend: backend)
  }

  // MARK: Reading

  /// The bytes of a regular file; `nil` when there is none. One that is larger than `limit` bytes is not read.
  package func read(_ name: String, followsLink: Bool = false, limit: Int) throws -> FileContent? {
    if isMissing { return nil }
    // Not blocking: somebody may have put a pipe there.
    let file = openat(
      descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW))
    guard file >= 0 else {
      guard errno != ENOENT else { return nil }
      throw errno == ELOOP ? notAFile(name) : failure("open", name)
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("fstat", name) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw notAFile(name) }
    guard status.st_size <= limit else {
      throw StorageError(
        .valueTooLarge, "The file has \(status.st_size) bytes; this store takes up to \(limit).",
        advice: "Move it away, or open the store with a larger limit.", backend: backend)
    }
    return FileContent(data: try bytes(of: file, size: Int(status.st_size), name), stamp: FileStamp(status))
  }

  private func bytes(of file: Int32, size: Int, _ name: String) throws -> Data {
    guard size > 0 else { return Data() }
    guard let buffer = malloc(size) else {
      throw StorageError(.inputOutput, "There is no memory for a value of \(size) bytes.", backend: backend)
    }
    var count = 0
    while count < size {
      let step = Foundation.read(file, buffer + count, size - count)
      if step < 0 {
        if errno == EINTR { continue }
        let failure = failure("read", name)
        free(buffer)
        throw failure
      }
      if step == 0 { break }  // Somebody has cut it short: the checksum will tell.
      count += step
    }
    return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
  }

  /// What a regular file is recognised by; `nil` when there is none. A directory is nobody's value.
  package func stamp(_ name: String) throws -> FileStamp? {
    if isMissing { return nil }
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno != ENOENT else { return nil }
      throw failure("stat", name)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      if status.st_mode & S_IFMT == S_IFDIR { return nil }
      throw notAFile(name)
    }
    return FileStamp(status)
  }

  /// What this directory is recognised by; it changes when a file comes or goes.
  package func ownStamp() throws -> FileStamp {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("fstat", ".") }
    return FileStamp(status)
  }

  /// Throws `unavailable` unless its path leads to this directory still: one that was removed, moved or hidden by a
  /// mount has nothing of what is at its path now.
  package func requireInPlace() throws {
    var status = stat()
    if stat(path, &status) == 0, Identity(status) == identity { return }
    let isElsewhere = status.st_ino != 0 || errno == ENOENT || errno == ENOTDIR
    guard isElsewhere else { throw failure("stat", ".") }
    throw StorageError(
      .unavailable,
      "The directory was moved, removed or replaced while the store was open: \(path.escapingControlCharacters)",
      advice: "Open the store again to use what is at its path. Nothing was changed.", backend: backend)
  }

  /// The same directory for replacing files in it.
  package func opened() throws(StorageError) -> OpenDirectory {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw failure("open", ".") }
    return OpenDirectory(copy, path: path)
  }

  package func isDirectory(_ name: String) throws -> Bool {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw failure("stat", name) }
      return false
    }
    return status.st_mode & S_IFMT == S_IFDIR
  }

  /// The names of the regular files in the directory.
  package func fileNames() throws -> [String] {
    if isMissing { return [] }
    // A descriptor of its own: reading moves the position.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw failure("open", ".") }
    guard let stream = fdopendir(copy) else {
      close(copy)
      throw failure("opendir", ".")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw failure("readdir", ".") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      // What is not UTF-8 is nobody's we know.
      if let name, try isFile(name, entry.pointee.d_type) { names.append(name) }
    }
  }

  /// Some file systems do not say in the listing what an entry is.
  private func isFile(_ name: String, _ type: UInt8) throws -> Bool {
    if Int(type) == Int(DT_REG) { return true }
    guard Int(type) == Int(DT_UNKNOWN) else { return false }
    var status = stat()
    if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status.st_mode & S_IFMT == S_IFREG }
    guard errno == ENOENT else { throw failure("stat", name) }
    return false
  }

  // MARK: Writing

  /// Makes a file (0600) with these bytes and returns when they have survived power loss; its name may not have.
  package func write(_ data: Data, to name: String) throws -> FileStamp {
    try write(data, to: name, isSynced: true)
  }

  /// Replaces a file by one with these bytes. It may be whole, old or empty after a power loss. One caller at a time.
  /// The room that was made sure of with ``reserve(_:count:)`` for `<name>.new` is used.
  package func replaceUnsynced(_ name: String, with data: Data) throws {
    let temporary = name + Self.unfinished
    _ = try write(data, to: temporary, isSynced: false, flags: 0)
    try rename(temporary, to: name, in: self)
  }

  /// Makes sure of the room for a file of so many bytes that is to be written under this name.
  /// - Throws: `diskFull`; then the file is gone.
  package func reserve(_ name: String, count: Int) throws {
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw errno == ENOENT ? removed(name) : failure("open", name) }
    defer { close(file) }
    let code = allocate(file, count)
    guard code == 0 else {
      unlinkat(descriptor, name, 0)
      throw failure("fallocate", name, code)
    }
  }

  /// Replaces a file by one with these bytes and returns when both they and its name have survived power loss. Whoever
  /// reads it sees the old bytes or the new ones; any number of callers and processes may do it at once.
  /// - Parameter waiting: the directory of the new file until it is whole, on the same file system.
  package func replace(_ name: String, with data: Data, through waiting: Directory) throws {
    let temporary = String(UInt64.random(in: .min ... .max), radix: 16) + Self.unfinished
    _ = try waiting.write(data, to: temporary, isSynced: true, flags: O_EXCL)
    do {
      try waiting.rename(temporary, to: name, in: self)
    } catch {
      unlinkat(waiting.descriptor, temporary, 0)
      throw error
    }
    try sync()
  }

  /// Removes what killed callers of ``replace(_:with:through:)`` have left here. A living one needs a moment, not an
  /// hour; should it sleep for that long, its call fails and nothing is lost.
  package func removeUnfinished() throws {
    let limit = UInt64(max(0, time(nil) - 3_600))
    for name in try fileNames() where name.hasSuffix(Self.unfinished) {
      if let stamp = try stamp(name), stamp.seconds < limit { try delete(name) }
    }
  }

  /// How the names of files end that are not whole yet.
  private static let unfinished = ".new"

  /// - Parameter flags: `O_TRUNC` or `O_EXCL`; without either the room that the file has is used.
  private func write(_ data: Data, to name: String, isSynced: Bool, flags: Int32 = O_TRUNC) throws -> FileStamp {
    let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags
    let file = openat(descriptor, name, flags, 0o600)
    guard file >= 0 else { throw errno == ENOENT ? removed(name) : failure("open", name) }
    defer { close(file) }
    do {
      var written = writeAll(data, to: file)
      if written == 0, ftruncate(file, off_t(data.count)) != 0 { written = errno }
      guard written == 0 else { throw failure("write", name, written) }
      let flushed = isSynced ? flush(file) : 0
      guard flushed == 0 else { throw failure("fsync", name, flushed) }
      var status = stat()
      guard fstat(file, &status) == 0 else { throw failure("fstat", name) }
      return FileStamp(status)
    } catch {
      // After a failed sync nobody knows what is in it: it is made anew, never synced again.
      unlinkat(descriptor, name, 0)
      throw error
    }
  }

  /// Gives a file another name, replacing what has it.
  package func rename(_ name: String, to target: String, in directory: Directory) throws {
    guard renameat(descriptor, name, directory.descriptor, target) == 0 else {
      guard errno == ENOENT else { throw directory.failure("rename", target) }
      guard !directory.isRemoved else { throw directory.removed(target) }
      throw StorageError(.notFound, "There is no file to move: \(name).", backend: backend)
    }
  }

  /// Gives a file a second name, if there is a file.
  package func link(_ name: String, to target: String, in directory: Directory) throws {
    guard linkat(descriptor, name, directory.descriptor, target, 0) == 0 || errno == ENOENT || errno == EEXIST else {
      throw directory.failure("link", target)
    }
  }

  /// Removes a file or a link. A missing one is no error; a directory is left alone.
  package func delete(_ name: String) throws {
    guard unlinkat(descriptor, name, 0) == 0 else {
      if errno == EISDIR || errno == ENOENT { return }
      let failure = failure("unlink", name)
      if try isDirectory(name) { return }  // which some systems call a lack of permission
      throw failure
    }
  }

  /// Throws when this user may not make and remove files here.
  package func checkWritable() throws {
    guard faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw failure("access", ".") }
  }

  /// Returns when the names in it have survived power loss.
  package func sync() throws {
    // A device that has failed once answers the second time with a lie.
    let known = syncFailure.withLock { $0 }
    guard known == 0 else { throw failure("fsync", ".", known) }
    let code = flush(descriptor)
    // Some file systems have nothing to sync for a directory and say so.
    guard code == 0 || code == EINVAL || code == ENOTSUP else {
      syncFailure.withLock { $0 = code }
      throw failure("fsync", ".", code)
    }
  }

  private var isRemoved: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  private func removed(_ name: String) -> StorageError {
    StorageError(
      .inputOutput, "The directory was removed while the store was open: \(path.escapingControlCharacters)",
      advice: "Open the store again: the directory is made anew.", backend: backend)
  }

  private func notAFile(_ name: String) -> StorageError {
    StorageError(
      .notAStore, "There is something else than a file where the value should be: \(name).",
      advice: "A symbolic link, directory or pipe there is not followed or read. Move it away, or write the key again.",
      backend: backend)
  }

  private func failure(_ call: String, _ name: String, _ code: Int32 = errno) -> StorageError {
    .fileSystem(call, path: path + "/" + name, errno: code, backend: backend)
  }
}
