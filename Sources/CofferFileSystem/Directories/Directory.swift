package import CofferCore
package import Foundation

/// An open directory, whose files are accessed relative to its descriptor, whatever happens to its path.
///
/// No method follows a symbolic link where a file is expected, unless its documentation states otherwise.
package final class Directory: Sendable {
  private let path: String
  private let location: String
  let descriptor: Int32
  private let identity: Identity
  /// The `errno` of the first failed sync, or 0.
  private let syncFailure = Locked(Int32(0))

  /// Opens a directory. Symbolic links are followed, since the user has specified the path.
  package convenience init(_ path: String, location: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StorageError.fileSystem("open", path: path, errno: errno, location: location) }
    self.init(descriptor, path: path, location: location)
  }

  /// Opens a directory for reading only. A missing directory is represented as one without files.
  package convenience init(ifAny path: String, location: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 || errno == ENOENT else {
      throw StorageError.fileSystem("open", path: path, errno: errno, location: location)
    }
    self.init(descriptor, path: path, location: location)
  }

  private init(_ descriptor: Int32, path: String, location: String) {
    self.descriptor = descriptor
    self.path = path
    self.location = location
    var status = stat()
    fstat(descriptor, &status)  // Cannot fail for an open directory, and zeros match no directory.
    identity = Identity(status)
  }

  /// The device and inode numbers, which identify a directory.
  private struct Identity: Equatable {
    let device, inode: UInt64

    init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }
  }

  deinit { close(descriptor) }

  /// Whether the directory does not exist, so that it has no files and cannot be written.
  private var isMissing: Bool { descriptor < 0 }

  /// Opens a subdirectory, creating it with mode 0700 if it is missing.
  /// - Parameter mayMake: `false` to create nothing; a missing directory is then represented as one without files.
  package func directory(_ name: String, mayMake: Bool = true) throws -> Directory {
    if mayMake {
      if FileCreation.makeDirectory(name, in: descriptor) == 0 {
        try sync()
      } else if errno != EEXIST {
        throw failure("mkdir", name)
      }
    }
    let child = isMissing ? -1 : openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard child >= 0 else {
      if !mayMake, isMissing || errno == ENOENT {
        return Directory(-1, path: path + "/" + name, location: location)
      }
      guard errno == ENOTDIR || errno == ELOOP else { throw failure("open", name) }
      throw StorageError(
        .notAStore, "Expected a directory at \(path)/\(name), but found something else.",
        advice: "A symbolic link there is not followed. Move it away. Nothing was changed.", location: location)
    }
    return Directory(child, path: path + "/" + name, location: location)
  }

  // MARK: Reading

  /// Returns the content of a regular file, or `nil` if there is none.
  /// - Parameters:
  ///   - followsLink: whether a symbolic link is followed; it is refused otherwise.
  ///   - limit: the maximum size of the file, in bytes.
  /// - Throws: `valueTooLarge` for a larger file, `notAStore` for anything but a regular file.
  package func read(_ name: String, followsLink: Bool = false, limit: Int) throws -> FileContent? {
    if isMissing { return nil }
    // Non-blocking: the name may belong to a pipe.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW)
    // A string that is passed to C by itself is copied to an array first.
    let file = name.withCString { openat(descriptor, $0, flags) }
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
        advice: "Move it away, or open the store with a larger limit.", location: location)
    }
    return FileContent(data: try bytes(of: file, size: Int(status.st_size), name), stamp: FileStamp(status))
  }

  private func bytes(of file: Int32, size: Int, _ name: String) throws -> Data {
    guard size > 0 else { return Data() }
    guard let buffer = malloc(size) else {
      throw StorageError(.inputOutput, "Not enough memory for a value of \(size) bytes.", location: location)
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
      if step == 0 { break }  // The file was truncated meanwhile; the checksum detects that.
      count += step
    }
    return Data(bytesNoCopy: buffer, count: count, deallocator: .free)
  }

  /// Returns the stamp of a regular file, or `nil` if there is none or a directory.
  /// - Throws: `notAStore` for any other kind of file.
  package func stamp(_ name: String) throws -> FileStamp? {
    if isMissing { return nil }
    var status = stat()
    guard name.withCString({ fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else {
      guard errno != ENOENT else { return nil }
      throw failure("stat", name)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      if status.st_mode & S_IFMT == S_IFDIR { return nil }
      throw notAFile(name)
    }
    return FileStamp(status)
  }

  /// Returns the stamp of this directory, which changes when a file is created, renamed or removed.
  package func ownStamp() throws -> FileStamp {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("fstat", ".") }
    return FileStamp(status)
  }

  /// Throws `unavailable` unless the path still leads to this directory, which may have been removed, moved or hidden
  /// by a mount.
  package func requireInPlace() throws {
    var status = stat()
    if path.withCString({ stat($0, &status) }) == 0, Identity(status) == identity { return }
    let isElsewhere = status.st_ino != 0 || errno == ENOENT || errno == ENOTDIR
    guard isElsewhere else { throw failure("stat", ".") }
    throw StorageError(
      .unavailable,
      "The directory was moved, removed or replaced while the store was open: \(path.escapingControlCharacters)",
      advice: "Open the store again to use what is at its path. Nothing was changed.", location: location)
  }

  /// Returns this directory as an ``OpenDirectory``, for replacing files in it.
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

  /// Returns the first bytes of a regular file and its size, or `nil` if there is no regular file of this name.
  package func head(_ name: String, limit: Int) throws -> (data: Data, size: Int)? {
    let file = isMissing ? -1 : openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard file >= 0 else {
      guard isMissing || errno == ENOENT || errno == ELOOP else { throw failure("open", name) }
      return nil
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw failure("fstat", name) }
    guard status.st_mode & S_IFMT == S_IFREG else { return nil }
    let size = Int(status.st_size)
    return (try bytes(of: file, size: min(size, limit), name), size)
  }

  /// Returns the names of the regular files in the directory, in no particular order.
  /// - Parameters:
  ///   - limit: the number of files at which the listing ends. All else is listed whole: a file may come after it.
  ///   - other: is called with the name of everything else, or with `nil` if the name is not UTF-8.
  package func fileNames(limit: Int = .max, other: (String?) -> Void = { _ in }) throws -> [String] {
    if isMissing { return [] }
    // A separate descriptor, since reading moves its position.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw failure("open", ".") }
    guard let stream = fdopendir(copy) else {
      close(copy)
      throw failure("opendir", ".")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count < limit {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw failure("readdir", ".") }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      // Coffer creates no names that are not UTF-8.
      if let name, try isFile(name, entry.pointee.d_type) {
        names.append(name)
      } else if name != ".", name != ".." {
        other(name)
      }
    }
    return names
  }

  /// Whether an entry is a regular file. Some file systems do not report the type in the listing.
  private func isFile(_ name: String, _ type: UInt8) throws -> Bool {
    if Int(type) == Int(DT_REG) { return true }
    guard Int(type) == Int(DT_UNKNOWN) else { return false }
    var status = stat()
    if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status.st_mode & S_IFMT == S_IFREG }
    guard errno == ENOENT else { throw failure("stat", name) }
    return false
  }

  // MARK: Writing

  /// Replaces a file atomically and syncs its bytes and its name to the device. A reader finds either the old or the
  /// new bytes; any number of callers and processes may call this at once.
  /// - Parameter waiting: a directory on the same file system for the temporary file.
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

  /// Removes temporary files that killed callers of ``replace(_:with:through:)`` have left here: those older than an
  /// hour. If a caller is suspended for that long, its call fails and nothing is lost.
  package func removeUnfinished() throws {
    let limit = UInt64(max(0, time(nil) - 3_600))
    for name in try fileNames() where name.hasSuffix(Self.unfinished) {
      if let stamp = try stamp(name), stamp.seconds < limit { try delete(name) }
    }
  }

  /// The suffix of the names of temporary files.
  private static let unfinished = ".new"

  /// Writes a file with mode 0600, in place if it exists, and without syncing its name. If that fails, it is removed.
  package func write(_ data: Data, to name: String, isSynced: Bool = true) throws -> FileStamp {
    try write(data, to: name, isSynced: isSynced, flags: 0)
  }

  private func write(_ data: Data, to name: String, isSynced: Bool, flags: Int32) throws -> FileStamp {
    let file = FileCreation.open(name, in: descriptor, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags)
    guard file >= 0 else { throw errno == ENOENT ? removed(name) : failure("open", name) }
    defer { close(file) }
    do {
      let written = writeAll(data, to: file)
      guard written == 0 else { throw failure("write", name, written) }
      var status = stat()
      guard fstat(file, &status) == 0 else { throw failure("fstat", name) }
      // Only an older file was longer; its date changes with its size.
      if status.st_size != off_t(data.count) {
        guard ftruncate(file, off_t(data.count)) == 0 else { throw failure("write", name) }
        guard fstat(file, &status) == 0 else { throw failure("fstat", name) }
      }
      let flushed = isSynced ? flush(file) : 0
      guard flushed == 0 else { throw failure("fsync", name, flushed) }
      return FileStamp(status)
    } catch {
      // After a failed sync its content is unknown: remove it rather than sync it again.
      unlinkat(descriptor, name, 0)
      throw error
    }
  }

  /// Renames a file, replacing any existing file of the new name.
  /// - Throws: `notFound` if there is no such file.
  package func rename(_ name: String, to target: String, in directory: Directory) throws {
    guard renameat(descriptor, name, directory.descriptor, target) == 0 else {
      guard errno == ENOENT else { throw directory.failure("rename", target) }
      guard !directory.isRemoved else { throw directory.removed(target) }
      throw StorageError(.notFound, "There is no file to move: \(name).", location: location)
    }
  }

  /// Creates a hard link to a file. Does nothing if the file is missing or the new name exists.
  package func link(_ name: String, to target: String, in directory: Directory) throws {
    guard linkat(descriptor, name, directory.descriptor, target, 0) == 0 || errno == ENOENT || errno == EEXIST else {
      throw directory.failure("link", target)
    }
  }

  /// Removes a file or a link. Does nothing if it is missing or a directory.
  package func delete(_ name: String) throws {
    guard unlinkat(descriptor, name, 0) == 0 else {
      if errno == EISDIR || errno == ENOENT { return }
      let failure = failure("unlink", name)
      if try isDirectory(name) { return }  // for which some systems report a lack of permission
      throw failure
    }
  }

  /// Throws if this user may not create and remove files here.
  package func checkWritable() throws {
    guard faccessat(descriptor, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw failure("access", ".") }
  }

  /// Throws if a file of the directory cannot be read. Its stamp does not tell.
  package func checkReadable(_ name: String) throws {
    guard faccessat(descriptor, name, R_OK, AT_EACCESS) == 0 || errno == ENOENT else { throw failure("access", name) }
  }

  /// Syncs the directory to the device, so that the names in it survive power loss.
  package func sync() throws {
    // After a failed sync, a second one can report success although the data is lost.
    let known = syncFailure.withLock { $0 }
    guard known == 0 else { throw failure("fsync", ".", known) }
    let code = flush(descriptor)
    // Some file systems do not support syncing a directory.
    guard code == 0 || code == EINVAL || code == ENOTSUP else {
      syncFailure.withLock { $0 = code }
      throw failure("fsync", ".", code)
    }
  }

  /// Syncs the bytes of files in the directory to the device, but not their names; `nil` for all files.
  ///
  /// Many are handed to the device before the first is waited for, so that they share a commit of the file system.
  package func syncFiles(_ names: [String]? = nil) throws {
    var rest = try (names ?? fileNames())[...]
    while !rest.isEmpty {
      var files: [(name: String, descriptor: Int32)] = []
      defer { for file in files { close(file.descriptor) } }
      var taken = 0
      for name in rest.prefix(Self.filesAtOnce) {
        let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        // Where descriptors are few, those that are open are synced first.
        if file < 0, errno == EMFILE || errno == ENFILE, !files.isEmpty { break }
        taken += 1
        guard file >= 0 || (names == nil && errno == ENOENT) else { throw failure("open", name) }
        if file < 0 { continue }
        files.append((name, file))
        if rest.count > 1 { beginFlush(file) }
      }
      for (name, file) in files {
        let code = flush(file)
        guard code == 0 else { throw failure("fsync", name, code) }
      }
      rest = rest.dropFirst(taken)
    }
  }

  /// The number of files that ``syncFiles(_:)`` has open at once.
  private static let filesAtOnce = 64

  private var isRemoved: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  private func removed(_ name: String) -> StorageError {
    StorageError(
      .inputOutput, "The directory was removed while the store was open: \(path.escapingControlCharacters)",
      advice: "Open the store again, which creates a new directory.", location: location)
  }

  private func notAFile(_ name: String) -> StorageError {
    StorageError(
      .notAStore, "Expected a file for the value, but found something else: \(name).",
      advice: "A symbolic link, directory or pipe there is not followed or read. Move it away, or write the key again.",
      location: location)
  }

  func failure(_ call: String, _ name: String, _ code: Int32 = errno) -> StorageError {
    .fileSystem(call, path: path + "/" + name, errno: code, location: location)
  }
}
