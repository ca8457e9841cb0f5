import Foundation

/// The creation of files and directories for this user only, which belong to the owner of the directory they are in.
///
/// They do so by themselves, unless root uses another user's store: its owner could not open it afterwards. Only what
/// is new changes its owner. Where the file system refuses that, it stays root's.
package enum FileCreation {
  /// Opens a file, creating it with mode 0600 if it is missing.
  /// - Parameters:
  ///   - flags: the flags of `open(2)` without `O_CREAT`, with `O_EXCL` or `O_NOFOLLOW`.
  ///   - owned: the path of a file in the same directory that the new one accompanies: it belongs to that one's owner.
  /// - Returns: the descriptor, or -1 with an `errno`.
  package static func open(_ path: String, _ flags: Int32, like owned: String? = nil) -> Int32 {
    guard geteuid() == 0 else { return Foundation.open(path, flags | O_CREAT, 0o600) }
    var status = stat()
    let isOwned = owned.map { lstat($0, &status) == 0 && status.st_uid != 0 } ?? false
    return inParent(of: path) { open($1, in: $0, flags, for: isOwned ? (status.st_uid, status.st_gid) : nil) }
  }

  /// Opens a file of an open directory, as ``open(_:_:like:)`` does.
  static func open(
    _ name: String, in directory: Int32, _ flags: Int32, for user: (user: uid_t, group: gid_t)? = nil
  ) -> Int32 {
    guard let owner = user ?? foreignOwner(of: directory) else {
      return openat(directory, name, flags | O_CREAT, 0o600)
    }
    for _ in 0..<16 {
      let file = openat(directory, name, flags | O_CREAT | O_EXCL, 0o600)
      if file >= 0 {
        _ = fchown(file, owner.user, owner.group)
        return file
      }
      guard errno == EEXIST, flags & O_EXCL == 0 else { return -1 }
      let present = openat(directory, name, flags)
      guard present < 0, errno == ENOENT else { return present }
    }
    return -1
  }

  /// Creates a directory that its owner can use, whatever the umask is, and nobody else.
  /// - Returns: 0, or -1 with an `errno`.
  package static func makeDirectory(_ path: String) -> Int32 {
    guard geteuid() == 0 else { return make(path, in: AT_FDCWD) }
    return inParent(of: path) { makeDirectory($1, in: $0) }
  }

  /// Creates a directory in an open one, as ``makeDirectory(_:)`` does.
  static func makeDirectory(_ name: String, in directory: Int32) -> Int32 {
    guard geteuid() == 0 else { return make(name, in: directory) }
    guard mkdirat(directory, name, 0o700) == 0 else { return -1 }
    return completeNew(name, in: directory)
  }

  private static func make(_ name: String, in directory: Int32) -> Int32 {
    var status = stat()
    guard mkdirat(directory, name, 0o700) == 0, fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      return -1
    }
    // The umask only takes bits away. Inherited ones, such as the group of the parent, stay.
    guard status.st_mode & 0o700 != 0o700 else { return 0 }
    return fchmodat(directory, name, status.st_mode & 0o7777 | 0o700, 0)
  }

  /// Sets the mode and the owner of a directory that root has just created.
  ///
  /// The owner of the parent may have replaced it by something else, to get the rights of another file: so only an
  /// empty directory of root is changed, by its descriptor.
  /// - Returns: 0, or -1 with an `errno`, which is `EEXIST` if it was replaced by another directory.
  static func completeNew(_ name: String, in directory: Int32) -> Int32 {
    var made = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    var status = stat()
    if made < 0, errno == EACCES, fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_uid == 0,
      fchmodat(directory, name, 0o700, AT_SYMLINK_NOFOLLOW) == 0
    {
      // A umask has taken all rights, and root without capabilities needs them. No link is followed.
      made = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    }
    guard made >= 0 else { return -1 }
    let failure = complete(made, in: directory)
    close(made)
    errno = failure
    return failure == 0 ? 0 : -1
  }

  /// - Returns: 0 or an `errno`.
  private static func complete(_ made: Int32, in directory: Int32) -> Int32 {
    var status = stat()
    guard fstat(made, &status) == 0 else { return errno }
    guard status.st_uid == 0, isEmpty(made) else { return EEXIST }
    if status.st_mode & 0o700 != 0o700, fchmod(made, status.st_mode & 0o7777 | 0o700) != 0 { return errno }
    if let owner = foreignOwner(of: directory) { _ = fchown(made, owner.user, owner.group) }
    return 0
  }

  private static func isEmpty(_ directory: Int32) -> Bool {
    // Not opened by its name ".", which needs the right to enter it.
    let copy = fcntl(directory, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return false }
    guard let entries = fdopendir(copy) else {
      close(copy)
      return false
    }
    defer { closedir(entries) }
    var count = 0
    while readdir(entries) != nil { count += 1 }
    return count <= 2  // itself and its parent
  }

  /// Returns the owner of a directory if this is root and that somebody else.
  private static func foreignOwner(of directory: Int32) -> (user: uid_t, group: gid_t)? {
    var status = stat()
    guard geteuid() == 0, fstat(directory, &status) == 0, status.st_uid != 0 else { return nil }
    return (status.st_uid, status.st_gid)
  }

  private static func inParent(of path: String, _ body: (_ directory: Int32, _ name: String) -> Int32) -> Int32 {
    let parts = PathParts(path)
    guard !parts.last.isEmpty else {
      errno = EEXIST
      return -1
    }
    let directory = Foundation.open(parts.parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return -1 }
    let result = body(directory, parts.last)
    let failure = errno
    close(directory)
    errno = failure
    return result
  }
}
