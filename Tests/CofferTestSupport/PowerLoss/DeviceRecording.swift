package import Foundation

/// A call that changes or syncs files.
package struct DeviceOperation: Sendable {
  package enum Kind: UInt64, Sendable {
    case create = 1
    case write, truncate, link, unlink, rename, exchange, sync, say
  }

  package let kind: Kind
  /// The inode of the file.
  package let file: UInt64
  /// The directories of the name and of the new name.
  package let directory, newDirectory: UInt64
  package let name, newName: String
  /// The offset of a write, or the new size. Of a new file, whether it is a directory; of a sync, whether it leaves out
  /// the attributes; of a rename, the inode that had the new name.
  package let offset: Int
  package let modified: timespec
  package let bytes: [UInt8]

  package var isSync: Bool { kind == .sync }
  /// The text of a line that the process printed.
  package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// What a process has done to the files of a store, in its order.
package struct DeviceRecording: Sendable {
  package let start: DeviceState
  package var operations: [DeviceOperation]
  /// The sync that a broken program lacks, or makes only when the operation with a number begins.
  package var delay: (sync: Int, until: Int)?

  /// Reads the log of the recording library. Operations outside of the store's directory are left out.
  package init(_ log: String, from start: DeviceState) throws {
    self.start = start
    var known = Set(start.files.keys).union(start.names.keys)
    var rest = try Data(contentsOf: URL(fileURLWithPath: log))[...]
    operations = []
    while !rest.isEmpty {
      guard let operation = DeviceOperation(&rest) else { throw TestFailure("the log \(log) cannot be read") }
      let isNew = [.create, .link, .rename].contains(operation.kind)
      let directory = operation.kind == .rename ? operation.newDirectory : operation.directory
      if isNew, known.contains(directory), start.root != operation.file { known.insert(operation.file) }
      if operation.kind == .say || known.contains(operation.file) { operations.append(operation) }
    }
  }

  /// The inodes of all files.
  package var inodes: Set<UInt64> { Set(operations.map(\.file)).union(start.files.keys) }

  /// Returns the number of lines with a text among the first operations.
  package func count(_ line: String, before end: Int) -> Int {
    operations.prefix(end).count { $0.kind == .say && $0.text == line + "\n" }
  }

  /// The syncs whose absence makes a broken program, and those that it makes only after it has renamed the file.
  package var delays: [(sync: Int, until: Int)] {
    let late = operations.indices.compactMap { rename -> (sync: Int, until: Int)? in
      // Of two renames of a file, one after the other, the second one counts.
      guard [.rename, .exchange].contains(operations[rename].kind),
        !operations.dropFirst(rename + 1).prefix(1).contains(where: { $0.kind == .exchange })
      else { return nil }
      let sync = operations[..<rename].lastIndex { $0.isSync && $0.file == operations[rename].file }
      return sync.map { ($0, rename + 1) }
    }
    return operations.indices.filter { operations[$0].isSync }.map { ($0, Int.max) } + late
  }

  /// Returns the recording of a program that makes a sync later or never.
  package func delaying(_ delay: (sync: Int, until: Int)) -> DeviceRecording {
    var copy = self
    copy.delay = delay
    return copy
  }

  /// Returns the last path of a file below the directory.
  package func path(of file: UInt64) -> String {
    let last = operations.lastIndex { $0.file == file && [.create, .link, .rename, .exchange].contains($0.kind) }
    return file == start.root ? "." : last.map(path) ?? "?"
  }

  /// Returns the path that an operation changes.
  package func path(_ index: Int) -> String {
    let operation = operations[index]
    switch operation.kind {
    case .create, .link, .unlink: return path(of: operation.directory) + "/" + operation.name
    case .rename, .exchange: return path(of: operation.newDirectory) + "/" + operation.newName
    default: return path(of: operation.file)
    }
  }
}

extension DeviceOperation {
  fileprivate init?(_ rest: inout Data.SubSequence) {
    let count = 10
    guard rest.count >= count * 8 else { return nil }
    let words = rest.prefix(count * 8).withUnsafeBytes { head in
      (0..<count).map { head.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
    }
    rest = rest.dropFirst(count * 8)
    guard let kind = Kind(rawValue: words[0]), rest.count >= words[7] + words[8] + words[9] else { return nil }
    func take(_ size: UInt64) -> [UInt8] {
      defer { rest = rest.dropFirst(Int(size)) }
      return Array(rest.prefix(Int(size)))
    }
    self.kind = kind
    (file, directory, newDirectory) = (words[1], words[2], words[3])
    offset = Int(Int64(bitPattern: words[4]))
    modified = timespec(tv_sec: Int(words[5]), tv_nsec: Int(words[6]))
    name = String(decoding: take(words[7]), as: UTF8.self)
    newName = String(decoding: take(words[8]), as: UTF8.self)
    bytes = take(words[9])
  }
}
