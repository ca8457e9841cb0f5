import Foundation

/// An injury of one file of a store, determined by the seed, the number and the files.
package struct SweepMutation: Sendable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    /// Flips one bit of the byte at an offset.
    case bit(offset: Int, UInt8)
    /// Combines the byte at an offset with a nonzero mask by XOR.
    case byte(offset: Int, UInt8)
    /// Truncates the file to a size.
    case truncated(Int)
    /// Replaces bytes by zeros.
    case zeroed(offset: Int, count: Int)
    /// Removes the file.
    case gone
  }

  /// The path of the file, relative to the directory of the store.
  package let file: String
  package let kind: Kind

  package var description: String { "\(file): \(kind)" }

  /// - Parameter isOpen: whether a process has the store open. Its mapped files must then not be truncated, and its
  ///   shared memory (`-shm`) is not damaged, since the first process that opens the store recreates it.
  package init?(seed: UInt64, number: Int, of directory: String, isOpen: Bool) throws {
    var generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0xD129_1CBB_1F1A_2B8F)
    let files = try Self.files(in: directory).filter { !isOpen || !$0.name.hasSuffix("-shm") }
    guard !files.isEmpty else { return nil }
    for _ in 0..<64 {
      let file = Self.pick(files, &generator)
      let kind = Self.draw(file.size, &generator)
      if isOpen, case .truncated = kind, file.name.hasSuffix("-wake") { continue }
      guard try Self.changes(kind, directory + "/" + file.name) else { continue }
      (self.file, self.kind) = (file.name, kind)
      return
    }
    return nil
  }

  /// Returns every regular file below a directory, sorted by name.
  private static func files(in directory: String) throws -> [(name: String, size: Int)] {
    try FileManager.default.subpathsOfDirectory(atPath: directory).sorted().compactMap { name in
      var status = stat()
      guard lstat(directory + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      return (name, Int(status.st_size))
    }
  }

  /// Picks a file, half of the time with equal probability and half of the time in proportion to the size.
  private static func pick(
    _ files: [(name: String, size: Int)], _ generator: inout SeededGenerator
  ) -> (name: String, size: Int) {
    let total = files.reduce(0) { $0 + $1.size }
    if Bool.random(using: &generator), total > 0 {
      var position = Int.random(in: 0..<total, using: &generator)
      for file in files {
        if position < file.size { return file }
        position -= file.size
      }
    }
    return files[Int.random(in: 0..<files.count, using: &generator)]
  }

  private static func draw(_ size: Int, _ generator: inout SeededGenerator) -> Kind {
    let choice = Int.random(in: 0..<16, using: &generator)
    guard size > 0, choice > 0 else { return .gone }
    // Half of the offsets are near the beginning or the end, where formats keep their headers and trailers.
    let edge = min(size, 512)
    let offset =
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: Int.random(in: 0..<edge, using: &generator)
      case 1: size - 1 - Int.random(in: 0..<edge, using: &generator)
      default: Int.random(in: 0..<size, using: &generator)
      }
    switch choice {
    case 1...6: return .bit(offset: offset, UInt8.random(in: 0..<8, using: &generator))
    case 7...9: return .byte(offset: offset, UInt8.random(in: 1...255, using: &generator))
    case 10...12: return .truncated(offset)
    default:
      let longest = min(4_096, size - offset)
      return .zeroed(offset: offset, count: Int.random(in: 1...longest, using: &generator))
    }
  }

  /// Returns whether the injury changes the file: replacing zeros by zeros does not.
  private static func changes(_ kind: Kind, _ path: String) throws -> Bool {
    guard case .zeroed(let offset, let count) = kind else { return true }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw TestFailure("open \(path): errno \(errno)") }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: count)
    guard pread(file, &bytes, count, off_t(offset)) == count else { throw TestFailure("read \(path): errno \(errno)") }
    return bytes.contains { $0 != 0 }
  }

  // MARK: Application

  /// Damages the file in place and restores its dates, since a failing medium does not change them.
  package func apply(in directory: String) throws {
    let path = directory + "/" + file
    guard kind != .gone else {
      guard unlink(path) == 0 else { throw TestFailure("unlink \(path): errno \(errno)") }
      return
    }
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw TestFailure("open \(path): errno \(errno)") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, try change(descriptor) else {
      throw TestFailure("write \(path): errno \(errno)")
    }
    let dates = [status.st_atim, status.st_mtim]
    guard futimens(descriptor, dates) == 0 else { throw TestFailure("futimens \(path): errno \(errno)") }
  }

  private func change(_ descriptor: Int32) throws -> Bool {
    func replace(at offset: Int, _ body: (UInt8) -> UInt8) -> Bool {
      var byte: UInt8 = 0
      guard pread(descriptor, &byte, 1, off_t(offset)) == 1 else { return false }
      byte = body(byte)
      return pwrite(descriptor, &byte, 1, off_t(offset)) == 1
    }
    switch kind {
    case .bit(let offset, let bit): return replace(at: offset) { $0 ^ (1 << bit) }
    case .byte(let offset, let difference): return replace(at: offset) { $0 ^ difference }
    case .truncated(let size): return ftruncate(descriptor, off_t(size)) == 0
    case .zeroed(let offset, let count):
      return pwrite(descriptor, [UInt8](repeating: 0, count: count), count, off_t(offset)) == count
    case .gone: return false
    }
  }
}
