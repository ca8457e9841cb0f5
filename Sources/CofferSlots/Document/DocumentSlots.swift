package import CofferCore
import CofferFileSystem
import CofferLocks
package import CofferSQLite
package import Foundation

/// A home that is one file with all values in it, rewritten as a whole for each batch.
///
/// Beside it there is a directory of ours, where the journal is, where values wait in files of their own, and where a
/// copy of what we have written last is kept: other programs write such files in place, and one that is killed at it
/// leaves half of one.
package final class DocumentSlots<Format: DocumentFormat>: CopyServing, RoomReserving, Examinable {
  private enum Step {
    case put(StoreKey, Format.Item, SlotID)
    case remove(StoreKey)
  }

  private struct Pending {
    var steps: [Step] = []
    /// What waited for these steps and is not needed after them.
    var placed: [SlotID] = []
    /// Whether the file was replaced, and its name synced, since somebody has asked for that.
    var isSynced = false
  }

  package let survivesPowerLoss = true
  package let controlPath: String
  package let format: Format
  private let file: DocumentFile<Format>
  private let staged, retained, quarantine: Directory
  private let maximumValueSize: Int
  private let pending = Locked(Pending())

  /// Opens a home, making the directories that are missing.
  /// - Parameters:
  ///   - path: of the file, in an existing directory.
  ///   - control: the path of the directory of ours, whose parent exists.
  ///   - isReadOnly: whether nothing is made, since nothing can be written.
  ///   - onDamage: told once of each damaged state of the file.
  package init(
    _ format: Format, at path: String, control: String, name: String, maximumValueSize: Int,
    isReadOnly: Bool = false, onDamage: (@Sendable (DamageReport) -> Void)?
  ) throws {
    self.format = format
    self.maximumValueSize = maximumValueSize
    controlPath = control
    let directory = isReadOnly ? try Directory(ifAny: control, backend: name) : try Directory(control, backend: name)
    staged = try directory.directory("staged", mayMake: !isReadOnly)
    retained = try directory.directory("retained", mayMake: !isReadOnly)
    quarantine = try directory.directory("quarantine", mayMake: !isReadOnly)
    if !isReadOnly { try? staged.removeUnfinished() }  // What cannot be removed is in nobody's way.
    file = try DocumentFile(
      format, at: path, copyIn: directory, staged: staged, quarantine: isReadOnly ? nil : quarantine, name: name,
      onDamage: onDamage)
  }

  package var keepsSecrets: Bool { format.keepsSecrets }
  /// A large file takes milliseconds to be taken apart, and one that is being written takes longer.
  package var readsBlock: Bool { !file.isRead }

  package func availability() -> StoreAvailability {
    do {
      _ = try file.document()
      return .available
    } catch {
      return .unavailable(reason: (error as? StorageError)?.message ?? "The file cannot be read.")
    }
  }

  // MARK: Reading

  /// What the file says now.
  package func document() throws -> Format.Document { try file.document() }

  /// Changes what the file says beside its values; inside of ``SlotEngine/alone(_:)``.
  package func change(_ body: (inout Format.Document) throws -> Void) throws { try file.change(body) }

  private func directory(_ slot: Slot) -> (directory: Directory, id: SlotID)? {
    switch slot {
    case .value: nil
    case .staged(let id): (staged, id)
    case .retained(let id): (retained, id)
    case .quarantined(let id): (quarantine, id)
    }
  }

  package func read(_ slot: Slot) throws -> SlotContent? {
    if case .value(let key) = slot { return try format.content(of: key, in: file.document()) }
    guard let (directory, id) = directory(slot) else { return nil }
    return try waiting(id, in: directory).map { SlotContent(format.data(of: $0.item), version: id, key: $0.key) }
  }

  private func waiting(_ id: SlotID, in directory: Directory) throws -> (key: StoreKey?, item: Format.Item)? {
    // Its envelope is larger than the value by a little.
    guard let content = try directory.read(id.description, limit: maximumValueSize + 4_096) else { return nil }
    return try format.decodeWaiting(content.data, of: id)
  }

  package func stamp(_ slot: Slot) throws -> SlotPresence? {
    if case .value(let key) = slot { return format.presence(of: key, in: try file.document()) }
    guard let (directory, id) = directory(slot) else { return nil }
    return try directory.stamp(id.description).map { _ in SlotPresence(stamp: nil) }
  }

  package func list() throws -> [Slot] {
    try format.keys(of: file.document()).map { .value($0) }
      + staged.fileNames().compactMap { SlotID($0).map { .staged($0) } }
      + retained.fileNames().compactMap { SlotID($0).map { .retained($0) } }
  }

  // MARK: Writing

  package func checkWritable() throws {
    try file.checkWritable()
    _ = try file.document()  // What cannot be read must not be replaced.
  }

  package func stage(
    _ data: Data, as id: SlotID, for key: StoreKey, attributes: ValueAttributes
  ) throws -> SlotStamp? {
    let tag = format.tag(of: attributes)
    _ = try staged.write(try format.encodeWaiting(data, as: id, for: key, tag: tag), to: id.description)
    return format.stamp(of: id)
  }

  package func attributes(
    staging data: Data, for key: StoreKey, attributes: ValueAttributes
  ) throws -> ValueAttributes {
    try format.attributes(of: key, set: data, tag: format.tag(of: attributes), in: file.document())
  }

  package func write(_ data: Data, to slot: Slot) throws -> SlotStamp? {
    try write(data, to: slot, for: nil)
    return nil
  }

  private func write(_ data: Data, to slot: Slot, for key: StoreKey?) throws {
    guard let (directory, id) = directory(slot) else {
      throw StorageError.unsupported("to write a value past its batch", advice: "Stage and move it.", backend: "")
    }
    let waiting = try format.encodeWaiting(data, as: id, for: key, tag: 0)
    try directory.replace(id.description, with: waiting, through: staged)
  }

  package func syncStaged() throws { try staged.sync() }

  package func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    guard let (from, id) = directory(source) else {
      throw StorageError.unsupported("to move a value", advice: "Copy it.", backend: "")
    }
    if let (directory, other) = directory(target) {
      try from.rename(id.description, to: other.description, in: directory)
    } else if case .value(let key) = target {
      guard let waiting = try waiting(id, in: from) else {
        throw StorageError(.notFound, "There is nothing to move: no value waits as \(id).")
      }
      guard waiting.key ?? key == key else {
        throw StorageError(.damaged, "The value that waits for this place is another key's.", key: key)
      }
      pending.withLock { pending in
        pending.steps.append(.put(key, waiting.item, id))
        pending.placed.append(id)
      }
    }
    return nil
  }

  package func copy(_ source: Slot, to target: Slot) throws {
    guard let content = try read(source) else { return }
    let key: StoreKey? = if case .value(let key) = source { key } else { content.key }
    try write(content.data, to: target, for: key)
  }

  package func delete(_ slot: Slot) throws {
    if case .value(let key) = slot { return pending.withLock { $0.steps.append(.remove(key)) } }
    if let (directory, id) = directory(slot) { try directory.delete(id.description) }
  }

  package func flush() throws {
    let pending = pending.withLock { pending in
      defer { pending = Pending() }
      return pending
    }
    guard !pending.steps.isEmpty else { return }
    try file.change { document in
      for step in pending.steps {
        switch step {
        case .put(let key, let item, let id): try format.set(key, to: item, version: id, in: &document)
        case .remove(let key): format.remove(key, from: &document)
        }
      }
    }
    self.pending.withLock { $0.isSynced = true }
    for id in pending.placed { try? staged.delete(id.description) }
  }

  /// Whoever was killed after it had replaced the file may not have synced its name.
  package func sync() throws {
    let isSynced = pending.withLock { pending in
      defer { pending.isSynced = false }
      return pending.isSynced
    }
    if !isSynced { try file.syncName() }
  }

  /// The file and its copy are written anew as a whole, while those that they replace are still there. Where only we
  /// write the file, how large it becomes is known.
  package func reserve(placing versions: [SlotID]) throws {
    guard format.keepsSecrets else { return }
    let sizes = try versions.map { Int(try staged.stamp($0.description)?.size ?? 0) + StoreKey.maximumSize + 64 }
    try file.reserve(additional: sizes.reduce(4_096, +))
  }

  package var hasRoom: Bool { file.hasRoom }
  package func release() { file.release() }

  // MARK: The copy

  package var servesCopy: Bool { file.servesCopy }

  package func acceptCopy() { file.acceptCopy() }

  package func problems() throws -> [String] {
    var problems = file.problems()
    for (directory, what) in [(staged, "staged"), (retained, "retained")] {
      for id in try directory.fileNames().compactMap({ SlotID($0) }) {
        do { _ = try waiting(id, in: directory) } catch let error as StorageError {
          problems.append("\(what)/\(id), which waits for its place, is damaged: \(error.message)")
        }
      }
    }
    return problems
  }

  // MARK: Watching

  package func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? {
    file.watch(heard)
  }
}
