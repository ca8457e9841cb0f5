import CofferCore
import CofferFileSystem
import Foundation

/// A directory with one file per key, whose content is exactly the value.
///
/// The subdirectory `.coffer` holds the journal and the staged values, on the same file system, so that publishing a
/// value is a rename. Every file is opened relative to a directory descriptor, and no symbolic link is followed, so
/// that nothing outside the directory is read or written.
final class FileSlots: Slots {
  /// The file of a slot.
  private struct SlotFile {
    let directory: Directory
    let name: String
  }

  let traits: SlotTraits = [.survivesPowerLoss, .stampsStaged]
  let path: String
  private let name: String
  private let values, control, staged, retained, quarantine, names: Directory
  private let maximumValueSize: Int
  private let isReadOnly: Bool
  /// The stamps of files that were moved to their names here, by these names, until the watcher reports them.
  private let published = Locked<[Data: FileStamp]>([:])
  private let lookedAt = Locked((stamp: FileStamp?.none, time: UInt64(0)))

  private static let publishedLimit = 4_096

  /// The interval between full scans, in nanoseconds, where the system reports no changes.
  private static let lookInterval: UInt64 = 5_000_000_000

  /// The name of the control directory, which holds the journal and the staged values.
  static let controlName = ".coffer"

  /// Opens an existing directory and creates the missing control directories.
  /// - Parameter isReadOnly: whether the store cannot be written, so that nothing is created.
  init(_ path: String, name: String, maximumValueSize: Int, isReadOnly: Bool = false) throws {
    self.path = path
    self.name = name
    self.maximumValueSize = maximumValueSize
    self.isReadOnly = isReadOnly
    values = try Directory(path, location: name)
    control = try values.directory(Self.controlName, mayMake: !isReadOnly)
    staged = try control.directory("staged", mayMake: !isReadOnly)
    retained = try control.directory("retained", mayMake: !isReadOnly)
    quarantine = try control.directory("quarantine", mayMake: !isReadOnly)
    names = try control.directory("names", mayMake: !isReadOnly)
    if !isReadOnly { try? staged.removeUnfinished() }  // Leftovers are harmless.
  }

  private func file(_ slot: Slot) -> SlotFile {
    switch slot {
    case .value(let key): SlotFile(directory: values, name: FileName(key).string)
    case .staged(let id): SlotFile(directory: staged, name: id.description)
    case .retained(let id): SlotFile(directory: retained, name: id.description)
    case .quarantined(let name): SlotFile(directory: quarantine, name: name)
    }
  }

  func availability() -> StoreAvailability {
    do {
      if isReadOnly { try values.requireInPlace() } else { try prepare([]) }
      return .available
    } catch {
      return .unavailable(reason: (error as? StorageError)?.message ?? "The directory cannot be used.")
    }
  }

  // MARK: Reading

  func read(_ slot: Slot) throws -> SlotContent? {
    try values.requireInPlace()
    let file = file(slot)
    return try file.directory.read(file.name, limit: maximumValueSize).map {
      SlotContent($0.data, stamp: SlotStamp($0.stamp))
    }
  }

  func stamp(_ slot: Slot) throws -> SlotPresence? {
    try values.requireInPlace()
    let file = file(slot)
    return try file.directory.stamp(file.name).map { SlotPresence(stamp: SlotStamp($0)) }
  }

  func prepare(_ keys: [KeyName]) throws {
    try values.requireInPlace()
    try values.checkWritable()
    for key in keys {
      do { try prepare(key) } catch let error as StorageError { throw error.locating(at: self.name, key: key) }
    }
  }

  /// Refuses a key whose file name is a directory, which a rename cannot replace, before anything is staged.
  private func prepare(_ key: KeyName) throws {
    let name = FileName(key).string
    guard try !values.isDirectory(name) else {
      throw StorageError(
        .notAStore, "A directory has the name of the value's file: \(name).",
        advice: "Move it away. Nothing was written.")
    }
    try FileLinks.refuse(name, in: values, at: path, control: [retained, quarantine])
    try keepName(of: key)
  }

  func list() throws -> [ListedSlot] {
    try values.requireInPlace()
    var slots: [Slot] = []
    for name in try values.fileNames() {
      if let key = FileName.key(of: name) {
        slots.append(.value(key))
      } else if FileName.isHashed(name), let key = try hashedKey(name) {
        slots.append(.value(key))
      }
    }
    slots += try staged.fileNames().compactMap { SlotID($0).map { .staged($0) } }
    slots += try retained.fileNames().compactMap { SlotID($0).map { .retained($0) } }
    return slots.map { ListedSlot($0) }
  }

  // MARK: Writing

  func write(_ data: Data, to slot: Slot, of key: KeyName?, attributes: ValueAttributes) throws -> SlotContent {
    let file = file(slot)
    if case .value(let key) = slot { try keepName(of: key) }
    guard case .staged = slot else {
      // Only a staged file may be written in place: the others must be complete whenever they are read.
      try file.directory.replace(file.name, with: data, through: staged)
      return SlotContent(data, stamp: try file.directory.stamp(file.name).map { SlotStamp($0) })
    }
    return SlotContent(data, stamp: SlotStamp(try file.directory.write(data, to: file.name, isSynced: false)))
  }

  func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    let (from, to) = (file(source), file(target))
    // Another handle may have removed the key since its value was staged.
    if case .value(let key) = target {
      try keepName(of: key)
      let stamp = try from.directory.stamp(from.name)
      published.withLock { published in
        if published.count == Self.publishedLimit { published.removeAll() }
        published[Data(to.name.utf8)] = stamp
      }
    }
    try from.directory.rename(from.name, to: to.name, in: to.directory)
    return nil  // A file keeps its inode, size and date.
  }

  func copy(_ key: KeyName, to version: SlotID) throws {
    let (from, to) = (file(.value(key)), file(.retained(version)))
    try from.directory.link(from.name, to: to.name, in: to.directory)
  }

  func delete(_ slot: Slot) throws {
    let file = file(slot)
    try file.directory.delete(file.name)
    if case .value(let key) = slot { try forgetName(of: key) }
  }

  /// Only what this store has put there: it can neither show nor remove a file of another program.
  func quarantined() throws -> [QuarantinedItem] {
    try quarantine.quarantinedItems().filter { SlotID($0.name) != nil }
  }

  func sync(_ changes: SlotSync) throws {
    switch changes {
    case .staged(let versions, let isAlone):
      try staged.syncFiles(versions.map(\.description))
      if !isAlone { try staged.sync() }
    case .allStaged:
      try staged.syncFiles(nil)
      try staged.sync()
    case .values: try confirming(name) { try values.sync() }
    }
  }

  // MARK: Keys of hashed names

  /// Stores the key of a hashed name in a file of the same name in `names`. A damaged file is replaced.
  private func keepName(of key: KeyName) throws {
    let name = FileName(key)
    guard name.isHashed, try hashedKey(name.string) == nil else { return }
    try names.replace(name.string, with: Data(key.string.utf8), through: staged)
  }

  private func forgetName(of key: KeyName) throws {
    let name = FileName(key)
    if name.isHashed { try names.delete(name.string) }
  }

  /// Returns the key of a hashed name, or `nil` if the file that holds it is missing or damaged.
  private func hashedKey(_ name: String) throws -> KeyName? {
    do {
      guard let content = try names.read(name, limit: KeyName.maximumSize),
        let text = String(validating: content.data, as: UTF8.self), let key = try? KeyName(text),
        FileName(key).string == name
      else { return nil }
      return key
    } catch let error as StorageError where error.code == .valueTooLarge || error.code == .notAStore {
      return nil  // no key is that long, and Coffer creates no links
    }
  }

  // MARK: Watching

  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? {
    let id = FileWatcher.shared.watch(directory: path) { [weak self] event in self?.receive(event, heard) }
    return { FileWatcher.shared.unwatch(id) }
  }

  private func receive(_ event: FileWatcher.Event, _ heard: (SlotEvent) -> Void) {
    switch event {
    case .changed(let name, let inPlace):
      // An edit in place has an event of its own, even if it leaves the stamp as it was.
      let stamp = published.withLock { $0.removeValue(forKey: Data(name.utf8)) }
      if !inPlace, let stamp, (try? values.stamp(name)) == stamp { return }
      if let key = FileName.key(of: name) {
        heard(.changed(key))
      } else if FileName.isHashed(name) {
        // The key may be known to the journal only.
        heard((try? hashedKey(name)).map { .changed($0) } ?? .anything)
      }
    case .unknown: heard(.anything)
    case .unheard:
      // Creating or removing a file changes the directory's modification time; writing a file in place does not.
      let now = DispatchTime.now().uptimeNanoseconds
      guard let stamp = try? values.ownStamp() else { return }
      let isDue = lookedAt.withLock { last in
        guard stamp != last.stamp || now >= last.time + Self.lookInterval else { return false }
        last = (stamp, now)
        return true
      }
      if isDue { heard(.anything) }
    case .interval: heard(.availability)
    case .written: break
    }
  }
}

extension SlotStamp {
  fileprivate init(_ stamp: FileStamp) { self.init(stamp.inode, stamp.seconds, stamp.nanoseconds, stamp.size) }
}
