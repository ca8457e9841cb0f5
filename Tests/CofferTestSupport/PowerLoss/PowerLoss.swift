import Foundation

/// The loss of power in the middle of a recording: which operations a device has kept, and in which form.
package struct PowerLoss: Sendable, CustomStringConvertible {
  /// What a file system promises.
  package enum Model: String, CaseIterable, Sendable {
    /// Names and sizes are kept in their order, and any sync keeps all that precede it; a file that replaces another
    /// one by a rename has its content first. Content that was not synced is kept in any part.
    case ext4
    /// Nothing is promised that was not synced: content by a sync of its file, a name by one of its directory.
    case posix
  }

  private enum Choice: CaseIterable { case all, nothing, some, first, allButOne, onlyOne }

  package let model: Model
  /// The number of operations that preceded the loss.
  package let end: Int
  private let choice: Choice
  private let seed: UInt64
  /// The operations one of which is kept or lost by the choices that concern one; empty for any.
  private var pivots: [Int] = []

  package var description: String { "\(model), \(choice) of what was not synced, before operation \(end)" }

  /// Chooses a loss after one of the operations in a range.
  package init(_ range: ClosedRange<Int>, model: Model, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    self.model = model
    self.seed = seed
    end = Int.random(in: range, using: &generator)
    choice = Choice.allCases.randomElement(using: &generator) ?? .all
  }

  /// A moment at which operations may be lost that are durable unless a sync is missing or late.
  package struct Exposure: Sendable {
    fileprivate let model: Model
    fileprivate let end: Int
    /// The numbers of the operations that may be lost.
    package let operations: [Int]

    /// Returns the first moments after a sync that a broken program delays.
    package static func all(of broken: DeviceRecording) -> [Exposure] {
      guard let sync = broken.delay?.sync else { return [] }
      return Model.allCases.flatMap { model in
        var found: [Exposure] = []
        for end in (sync + 1)...min(broken.operations.count, sync + 60) {
          let lost = lost(by: broken, before: end, model)
          if lost.isEmpty { break }
          found.append(Exposure(model: model, end: end, operations: lost))
        }
        return found
      }
    }

    /// Whether no operation that precedes a moment may be lost because a broken program delays a sync.
    package static func isNone(of broken: DeviceRecording, before end: Int) -> Bool {
      Model.allCases.allSatisfy { lost(by: broken, before: end, $0).isEmpty }
    }

    private static func lost(by broken: DeviceRecording, before end: Int, _ model: Model) -> [Int] {
      var whole = broken
      whole.delay = nil
      let (durable, less) = (Durability(whole, before: end, model), Durability(broken, before: end, model))
      return (0..<end).filter { durable.strength[$0] > less.strength[$0] }
    }
  }

  /// Chooses a loss at a moment at which a broken program differs.
  package init(_ exposure: Exposure, seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    (model, end, pivots, self.seed) = (exposure.model, exposure.end, exposure.operations, seed)
    choice = Choice.allCases.dropFirst().randomElement(using: &generator) ?? .nothing
  }

  /// Returns the state that the device has after the loss.
  package func state(of recording: DeviceRecording) -> DeviceState {
    var generator = SeededGenerator(seed: seed &+ 1)
    let operations = recording.operations[..<end]
    let forced = Durability(recording, before: end, model)
    let free = operations.indices.filter { !forced.isKept($0) }
    let journal =
      switch choice {
      case .all: end
      case .nothing: forced.journal
      default: Int.random(in: forced.journal...end, using: &generator)
      }
    let pivot = (pivots.isEmpty ? free : pivots).randomElement(using: &generator) ?? 0
    var state = recording.start
    for index in operations.indices {
      let operation = operations[index]
      var isKept = forced.isKept(index)
      if !isKept {
        switch choice {
        case .all: isKept = true
        case .nothing: isKept = false
        case .some: isKept = Bool.random(using: &generator)
        case .first: isKept = index < pivot
        case .allButOne: isKept = index != pivot
        case .onlyOne: isKept = index == pivot
        }
        if model == .ext4, operation.kind != .write { isKept = index < journal }
        // A size is kept like a name, so a file that grows ends where the journal does.
        if model == .ext4, operation.kind == .write, index >= journal {
          let size = state.files[operation.file]?.bytes.count ?? 0
          isKept = isKept && operation.offset + operation.bytes.count <= size
        }
        if model == .ext4, forced.isReplacement(operation.file, written: index, before: journal) { isKept = true }
      }
      if isKept {
        let isTorn = !forced.isKept(index) && choice != .all && Int.random(in: 0..<4, using: &generator) == 0
        state.apply(operation, tornAt: isTorn ? [512, 4_096].randomElement(using: &generator) : nil, &generator)
      } else if model == .posix {
        state.apply(operation, named: { forced.isKept(name: $0, index) })
      }
    }
    state.removeIndexes(isEmptied: Bool.random(using: &generator))
    return state
  }
}

/// The operations that syncs have made durable.
private struct Durability {
  /// For each operation how much of it is durable: 2 if it is whole, 1 if only the name in one of two directories is.
  let strength: [Int]
  private let names: [UInt64: Int]
  /// The number of operations whose names and sizes are durable under `ext4`.
  let journal: Int
  private let replacements: [UInt64: [Int]]

  init(_ recording: DeviceRecording, before end: Int, _ model: PowerLoss.Model) {
    let operations = recording.operations[..<end]
    var (last, journal, changed) = ([UInt64: Int](), 0, [UInt64: Int]())
    var replacements: [UInt64: [Int]] = [:]
    var sizes = recording.start.files.mapValues(\.bytes.count)
    func sync(_ operation: DeviceOperation, at index: Int) {
      last[operation.file] = index
      // A sync of the content alone writes the journal only if the size has changed.
      if operation.offset == 0 || changed[operation.file, default: 0] >= journal { journal = index }
    }
    for (index, operation) in zip(operations.indices, operations) {
      if let delay = recording.delay, index == delay.until { sync(operations[delay.sync], at: index) }
      switch operation.kind {
      case .sync: if index != recording.delay?.sync { sync(operation, at: index) }
      case .write where operation.offset + operation.bytes.count > sizes[operation.file, default: 0]:
        sizes[operation.file] = operation.offset + operation.bytes.count
        changed[operation.file] = index
      case .truncate:
        sizes[operation.file] = operation.offset
        changed[operation.file] = index
      case .create: changed[operation.file] = index
      case .rename where operation.offset != 0: replacements[operation.file, default: []].append(index)
      default: break
      }
    }
    strength = zip(operations.indices, operations).map { index, operation in
      switch operation.kind {
      case .sync, .say: return 2
      case .write, .truncate: return last[operation.file, default: -1] > index ? 2 : 0
      case _ where model == .ext4: return index < journal ? 2 : 0
      default:
        let directories = [operation.directory, operation.newDirectory].filter { $0 != 0 }
        let synced = directories.count { last[$0, default: -1] > index }
        return synced == directories.count ? 2 : synced
      }
    }
    (names, self.journal, self.replacements) = (last, journal, replacements)
  }

  func isKept(_ index: Int) -> Bool { strength[index] == 2 }

  /// Whether the changes of the names in a directory are durable up to an operation.
  func isKept(name directory: UInt64, _ index: Int) -> Bool { names[directory, default: -1] > index }

  /// Whether a file has replaced another one since an operation, so that its content precedes its name.
  func isReplacement(_ file: UInt64, written index: Int, before journal: Int) -> Bool {
    replacements[file]?.contains { $0 > index && $0 < journal } ?? false
  }
}

extension DeviceRecording {
  /// The state of the files at the end, if power is not lost.
  package var end: DeviceState {
    var (state, generator) = (start, SeededGenerator(seed: 0))
    for operation in operations { state.apply(operation, &generator) }
    return state
  }
}

extension DeviceState {
  /// Applies an operation; a torn write in parts of this size.
  fileprivate mutating func apply(
    _ operation: DeviceOperation, tornAt unit: Int? = nil, _ generator: inout SeededGenerator
  ) {
    switch operation.kind {
    case .write:
      var start = 0
      while start < operation.bytes.count {
        let rest = unit.map { $0 - (operation.offset + start) % $0 } ?? operation.bytes.count
        let end = min(operation.bytes.count, start + rest)
        if unit == nil || Bool.random(using: &generator) {
          files[operation.file, default: File()].write(operation.bytes[start..<end], at: operation.offset + start)
        }
        start = end
      }
      files[operation.file, default: File()].modified = operation.modified
    case .truncate:
      files[operation.file, default: File()].resize(operation.offset)
      files[operation.file, default: File()].modified = operation.modified
    case .sync, .say: break
    default: apply(operation) { _ in true }
    }
  }

  /// Applies an operation on names in those directories for which `isKept` returns `true`.
  fileprivate mutating func apply(_ operation: DeviceOperation, named isKept: (UInt64) -> Bool) {
    func set(_ directory: UInt64, _ name: String, _ file: UInt64?) {
      if isKept(directory) { names[directory, default: [:]][name] = file }
    }
    switch operation.kind {
    case .create, .link:
      set(operation.directory, operation.name, operation.file)
      if operation.kind == .create {
        if operation.offset == 1 { names[operation.file, default: [:]] = names[operation.file] ?? [:] }
        if operation.offset == 0, files[operation.file] == nil { files[operation.file] = File() }
      }
    case .unlink: set(operation.directory, operation.name, nil)
    case .rename:
      set(operation.directory, operation.name, nil)
      set(operation.newDirectory, operation.newName, operation.file)
    case .exchange:
      set(operation.directory, operation.name, UInt64(operation.offset))
      set(operation.newDirectory, operation.newName, operation.file)
    case .write, .truncate, .sync, .say: break
    }
  }

  /// Removes or empties SQLite's indexes of logs, which are shared memory.
  fileprivate mutating func removeIndexes(isEmptied: Bool) {
    for (directory, entries) in names {
      for (name, inode) in entries where name.hasSuffix("-shm") {
        if isEmptied { files[inode] = File() } else { names[directory]?[name] = nil }
      }
    }
  }
}

extension DeviceState.File {
  fileprivate mutating func write(_ part: ArraySlice<UInt8>, at offset: Int) {
    if bytes.count < offset + part.count { resize(offset + part.count) }
    bytes.withUnsafeMutableBytes { all in
      part.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: all[offset...]).copyMemory(from: $0) }
    }
  }

  fileprivate mutating func resize(_ size: Int) {
    if size < bytes.count { bytes.removeLast(bytes.count - size) }
    guard size > bytes.count else { return }
    // Without calls for single bytes, which take most of the time of a replay in a debug build.
    let old = bytes
    bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let all = UnsafeMutableRawBufferPointer(buffer)
      old.withUnsafeBytes { all.copyMemory(from: $0) }
      if let rest = all.baseAddress?.advanced(by: old.count) { memset(rest, 0, size - old.count) }
      count = size
    }
  }
}
