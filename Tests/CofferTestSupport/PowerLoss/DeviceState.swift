package import Foundation

/// The files and directories of a store, as a device holds them.
package struct DeviceState: Sendable {
  package struct File: Sendable, Equatable {
    package var bytes: [UInt8] = []
    package var modified = timespec()

    package static func == (one: File, other: File) -> Bool { one.bytes == other.bytes }
  }

  /// The directory of the store, by its inode.
  package let root: UInt64
  package var files: [UInt64: File] = [:]
  /// The names in each directory, with their inodes.
  package var names: [UInt64: [String: UInt64]]

  package init(root: UInt64) { (self.root, names) = (root, [root: [:]]) }

  /// Returns the inodes below the root by their relative paths.
  package var tree: [String: UInt64] { tree(of: root, "") }

  private func tree(of directory: UInt64, _ prefix: String) -> [String: UInt64] {
    var found: [String: UInt64] = [:]
    for (name, inode) in names[directory] ?? [:] {
      found[prefix + name] = inode
      if names[inode] != nil { found.merge(tree(of: inode, prefix + name + "/")) { one, _ in one } }
    }
    return found
  }

  /// A hash of all names and files, by which states that were seen before are found.
  package var fingerprint: Int {
    var hasher = Hasher()
    for (name, inode) in tree.sorted(by: { $0.key < $1.key }) {
      hasher.combine(name)
      hasher.combine(inode)
      guard let file = files[inode] else { continue }
      hasher.combine(file.modified.tv_sec)
      hasher.combine(file.modified.tv_nsec)
      hasher.combine(file.bytes.count)
      file.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
    return hasher.finalize()
  }

  /// Reads the present files of a directory.
  package init(of directory: String) throws {
    self.init(root: UInt64(try Self.status(directory).st_ino))
    try read(directory, root)
  }

  private mutating func read(_ path: String, _ directory: UInt64) throws {
    names[directory] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      let status = try Self.status(path + "/" + name)
      let inode = UInt64(status.st_ino)
      names[directory]?[name] = inode
      if status.st_mode & S_IFMT == S_IFDIR {
        try read(path + "/" + name, inode)
      } else {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
        files[inode] = File(bytes: Array(bytes), modified: status.st_mtim)
      }
    }
  }

  static func status(_ path: String) throws -> stat {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw TestFailure("stat \(path): errno \(errno)") }
    return status
  }
}

/// The files of the replayed states, each kept under the inode that the store knows it by.
package struct DevicePool {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// Makes the files of a directory available for states, and removes the directory.
  package func take(_ directory: String) throws {
    guard let found = FileManager.default.enumerator(atPath: directory) else { return }
    for case let name as String in found {
      let file = directory + "/" + name
      let status = try DeviceState.status(file)
      guard status.st_mode & S_IFMT == S_IFREG else { continue }
      guard rename(file, "\(path)/\(status.st_ino)") == 0 else { throw TestFailure("rename \(file): errno \(errno)") }
    }
    try FileManager.default.removeItem(atPath: directory)
  }

  /// Removes the files that do not belong to a recording.
  package func keepOnly(_ inodes: Set<UInt64>) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      if UInt64(name).map(inodes.contains) != true { unlink(path + "/" + name) }
    }
  }

  /// Writes a state into a new directory.
  package func restore(_ state: DeviceState, to directory: String) throws {
    guard mkdir(directory, 0o700) == 0 else { throw TestFailure("mkdir \(directory): errno \(errno)") }
    for (name, inode) in state.tree.sorted(by: { $0.key < $1.key }) {
      let target = directory + "/" + name
      if state.names[inode] != nil {
        guard mkdir(target, 0o700) == 0 else { throw TestFailure("mkdir \(target): errno \(errno)") }
      } else if let file = state.files[inode] {
        try write(file, inode, to: target)
      }
    }
  }

  private func write(_ file: DeviceState.File, _ inode: UInt64, to target: String) throws {
    // A name that is already in place is another name of the same file, or of one that a state cannot have twice.
    if rename("\(path)/\(inode)", target) != 0, errno != ENOENT { throw TestFailure("rename: errno \(errno)") }
    let descriptor = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw TestFailure("open \(target): errno \(errno)") }
    defer { close(descriptor) }
    let count = file.bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == file.bytes.count, ftruncate(descriptor, off_t(count)) == 0,
      futimens(descriptor, [file.modified, file.modified]) == 0
    else { throw TestFailure("write \(target): errno \(errno)") }
  }
}
