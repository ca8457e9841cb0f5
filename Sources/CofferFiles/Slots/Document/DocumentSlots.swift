package import CofferCore
import CofferFileSystem
package import Foundation

/// A store that keeps all values in one file, which is rewritten as a whole for each batch.
///
/// A control directory beside the file holds the journal, a file for each staged value, and a copy of the content
/// written last: other programs overwrite such files in place, and leave a truncated file when they are killed.
package final class DocumentSlots<Format: DocumentFormat>: CopyServing, Examinable {
  private enum Step {
    case put(KeyName, Format.Item, SlotID)
    case remove(KeyName)
  }

  private struct Pending {
    var steps: [Step] = []
    /// The staged versions that are removed after these steps.
    var placed: [SlotID] = []
  }

  package let traits: SlotTraits
  package let controlPath: String
  package let format: Format
  private let file: DocumentFile<Format>
  private let staged, retained, quarantine: Directory
  private let maximumValueSize: Int
  private let isReadOnly: Bool
  private let pending = Locked(Pending())
  /// The files of small values that were staged here lately, which need not be read back as long as they are there.
  private let own = Locked<[SlotID: FileContent]>([:])
  private static var ownSize: Int { 4_096 }
  private static var ownCount: Int { 64 }

  /// Opens a store and creates the missing directories.
  /// - Parameters:
  ///   - path: the path of the file, in an existing directory.
  ///   - control: the path of the control directory, whose parent exists.
  ///   - isReadOnly: whether the store cannot be written, so that nothing is created.
  ///   - onDamage: called once for each damaged state of the file.
  package init(
    _ format: Format, at path: String, control: String, name: String, maximumValueSize: Int,
    isReadOnly: Bool = false, onDamage: (@Sendable (DamageReport) -> Void)?
  ) throws {
    self.format = format
    traits = [
      .survivesPowerLoss, format.keepsSecrets ? .keepsSecrets : [],
      format.holdsPropertyLists ? .holdsPropertyLists : [],
    ]
    self.maximumValueSize = maximumValueSize
    self.isReadOnly = isReadOnly
    controlPath = control
    let directory = isReadOnly ? try Directory(ifAny: control, location: name) : try Directory(control, location: name)
    staged = try directory.directory("staged", mayMake: !isReadOnly)
    retained = try directory.directory("retained", mayMake: !isReadOnly)
    quarantine = try directory.directory("quarantine", mayMake: !isReadOnly)
    // Leftovers are harmless; earlier versions left some of the copy, too.
    if !isReadOnly { for leftovers in [staged, directory] { try? leftovers.removeUnfinished() } }
    file = try DocumentFile(
      format, at: path, copyIn: directory, staged: staged, quarantine: isReadOnly ? nil : quarantine, name: name,
      onDamage: onDamage)
  }

  /// Decoding a large file takes milliseconds, and a read may wait for a writer.
  package var readsBlock: Bool { !file.isRead }

  package func availability() -> StoreAvailability {
    do {
      _ = try presentDocument()
      return .available
    } catch {
      return .unavailable(reason: (error as? StorageError)?.message ?? "The file cannot be read.")
    }
  }

  // MARK: Reading

  /// Returns the current content of the file.
  package func document() throws -> Format.Document { try file.document() }

  /// Changes content of the file other than its values. Call it only inside ``SlotEngine/alone(_:)``.
  package func change(_ body: (inout Format.Document) throws -> Void) throws { try file.change(body) }

  /// Returns the current content of the file for reads of its values.
  ///
  /// To a writer, the values of a deleted file are deleted, which it commits. A reader has no other way to report it.
  private func presentDocument() throws -> Format.Document {
    let document = try file.document()
    guard isReadOnly, file.isDeleted else { return document }
    throw StorageError(
      .unavailable, "The file was moved or deleted while the store was open.",
      advice: "Put the file back, or open the store again.")
  }

  private func file(_ slot: Slot) -> (directory: Directory, name: String)? {
    switch slot {
    case .value: nil
    case .staged(let id): (staged, id.description)
    case .retained(let id): (retained, id.description)
    case .quarantined(let name): (quarantine, name)
    }
  }

  package func read(_ slot: Slot) throws -> SlotContent? {
    switch slot {
    case .value(let key): return try format.content(of: key, in: presentDocument())
    case .staged(let id): return try content(of: id, in: staged)
    case .retained(let id): return try content(of: id, in: retained)
    case .quarantined(let name):
      // The value as it was found, or the bytes of its file if it cannot be decoded.
      if let found = try? SlotID(name).flatMap({ try content(of: $0, in: quarantine) }) { return found }
      return try quarantine.read(name, limit: 1 << 30).map { SlotContent($0.data) }
    }
  }

  private func content(of id: SlotID, in directory: Directory) throws -> SlotContent? {
    try waiting(id, in: directory).map { SlotContent(format.data(of: $0.item), version: id, key: $0.key) }
  }

  /// - Parameter believesOwn: whether bytes that this process has staged are not read back.
  private func waiting(
    _ id: SlotID, in directory: Directory, believesOwn: Bool = true
  ) throws -> (key: KeyName?, item: Format.Item)? {
    let name = id.description
    if believesOwn, directory === staged, let own = own.withLock({ $0[id] }), try staged.stamp(name) == own.stamp {
      return try format.decodeStaged(own.data, of: id)
    }
    // The encoded form is slightly larger than the value.
    guard let content = try directory.read(name, limit: maximumValueSize + 4_096) else { return nil }
    return try format.decodeStaged(content.data, of: id)
  }

  package func stamp(_ slot: Slot) throws -> SlotPresence? {
    if case .value(let key) = slot { return format.presence(of: key, in: try presentDocument()) }
    guard let (directory, name) = file(slot) else { return nil }
    return try directory.stamp(name).map { _ in SlotPresence(stamp: nil) }
  }

  package func list() throws -> [ListedSlot] {
    let document = try presentDocument()
    return format.keys(of: document).map { ListedSlot(.value($0), format.presence(of: $0, in: document)) }
      + (try staged.fileNames().compactMap { SlotID($0).map { ListedSlot(.staged($0)) } })
      + (try retained.fileNames().compactMap { SlotID($0).map { ListedSlot(.retained($0)) } })
  }

  package func quarantined() throws -> [QuarantinedItem] { try quarantine.quarantinedItems() }

  // MARK: Writing

  package func prepare(_ keys: [KeyName]) throws { try file.checkWritable() }

  package func write(
    _ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes
  ) throws -> SlotContent {
    switch slot {
    case .value:
      throw StorageError.unsupported("to write a value past its batch", advice: "Stage and move it.", location: "")
    case .staged(let id): return try stage(data, as: id, for: key, attributes)
    case .retained(let id): try put(data, id, in: retained, for: key)
    case .quarantined(let name): if let id = SlotID(name) { try put(data, id, in: quarantine, for: key) }
    }
    return SlotContent(data)
  }

  private func stage(
    _ data: Data, as id: SlotID, for key: KeyName?, _ attributes: ValueAttributes
  ) throws -> SlotContent {
    let tag = format.tag(of: attributes)
    let reported = try key.map { try format.attributes(of: $0, set: data, tag: tag, in: file.expected()) }
    let bytes = try format.encodeStaged(data, as: id, for: key, tag: tag)
    let stamp = try staged.write(bytes, to: id.description, isSynced: false)
    if bytes.count <= Self.ownSize {
      own.withLock { own in
        if own.count == Self.ownCount { own.removeAll() }
        own[id] = FileContent(data: bytes, stamp: stamp)
      }
    }
    return SlotContent(data, stamp: format.stamp(of: id), version: id, attributes: reported ?? .none)
  }

  private func put(_ data: Data, _ id: SlotID, in directory: Directory, for key: KeyName?) throws {
    let waiting = try format.encodeStaged(data, as: id, for: key, tag: 0)
    try directory.replace(id.description, with: waiting, through: staged)
  }

  package func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    guard case .staged(let id) = source else {
      throw StorageError.unsupported("to move a value", advice: "Copy it.", location: "")
    }
    if let (directory, name) = file(target) {
      own.withLock { $0[id] = nil }
      try staged.rename(id.description, to: name, in: directory)
    } else if case .value(let key) = target {
      guard let waiting = try waiting(id, in: staged) else {
        throw StorageError(.notFound, "There is nothing to move: no value is staged as \(id).")
      }
      guard waiting.key ?? key == key else {
        throw StorageError(.damaged, "The staged value of this key belongs to another key.", key: key)
      }
      pending.withLock { pending in
        pending.steps.append(.put(key, waiting.item, id))
        pending.placed.append(id)
      }
    }
    return nil
  }

  package func copy(_ key: KeyName, to version: SlotID) throws {
    if let content = try read(.value(key)) { try put(content.data, version, in: retained, for: key) }
  }

  package func delete(_ slot: Slot) throws {
    if case .value(let key) = slot { return pending.withLock { $0.steps.append(.remove(key)) } }
    if case .staged(let id) = slot { own.withLock { $0[id] = nil } }
    guard let (directory, name) = file(slot) else { return }
    try directory.delete(name)
  }

  package func sync(_ changes: SlotSync) throws {
    switch changes {
    case .staged(_, isAlone: true): break
    case .staged(let versions, isAlone: false):
      try staged.syncFiles(versions.map(\.description))
      try staged.sync()
    case .allStaged:
      try staged.syncFiles(nil)
      try staged.sync()
    case .values:
      // Replacing the file syncs its name; a writer killed after replacing it may not have.
      if try !place() { try confirming(file.name) { try file.syncName() } }
    }
  }

  /// Applies the pending changes to the file.
  /// - Returns: Whether there were any.
  private func place() throws -> Bool {
    let pending = pending.withLock { pending in
      defer { pending = Pending() }
      return pending
    }
    guard !pending.steps.isEmpty else { return false }
    try file.change { document in
      for step in pending.steps {
        switch step {
        case .put(let key, let item, let id): try format.set(key, to: item, version: id, in: &document)
        case .remove(let key): format.remove(key, from: &document)
        }
      }
    }
    for id in pending.placed { try? staged.delete(id.description) }
    own.withLock { own in for id in pending.placed { own[id] = nil } }
    return true
  }

  // MARK: The copy

  package var servesCopy: Bool { file.servesCopy }

  package func acceptCopy() { file.acceptCopy() }

  package func repairCopy() throws { try file.repairCopy() }

  package func problems() throws -> [String] {
    var problems = file.problems()
    for (directory, what) in [(staged, "staged"), (retained, "retained")] {
      for id in try directory.fileNames().compactMap({ SlotID($0) }) {
        do { _ = try waiting(id, in: directory, believesOwn: false) } catch let error as StorageError {
          problems.append("The value \(what)/\(id) is damaged: \(error.message)")
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
