import CofferCore
import CofferFileSystem
import CofferLocks
import CofferSlots
import Foundation

/// A directory with a file per key, whose bytes are the value's and nothing else.
///
/// Beside the files there is `.coffer`, where the journal is and where values wait: on the same file system, so that
/// putting one into its place is a rename. Every file is opened relative to a directory that was opened once, and no
/// symbolic link is ever followed, so that nothing outside is read or written.
final class FileSlots: Slots {
  /// Where a slot's file is.
  private struct Place {
    let directory: Directory
    let name: String
  }

  let survivesPowerLoss = true
  let path: String
  private let name: String
  private let values, control, staged, retained, quarantine, names: Directory
  private let maximumValueSize: Int
  private let lookedAt = Locked((stamp: FileStamp?.none, time: UInt64(0)))

  /// How often everything is looked at where the system tells of no changes, in nanoseconds.
  private static let lookInterval: UInt64 = 5_000_000_000

  /// Where the journal and the values that wait are.
  static let controlName = ".coffer"

  /// Opens a directory, making what is missing of it.
  /// - Parameter isReadOnly: whether nothing is made, since nothing can be written.
  init(_ path: String, name: String, maximumValueSize: Int, isReadOnly: Bool = false) throws {
    self.path = path
    self.name = name
    self.maximumValueSize = maximumValueSize
    values = try Directory(path, backend: name)
    control = try values.directory(Self.controlName, mayMake: !isReadOnly)
    staged = try control.directory("staged", mayMake: !isReadOnly)
    retained = try control.directory("retained", mayMake: !isReadOnly)
    quarantine = try control.directory("quarantine", mayMake: !isReadOnly)
    names = try control.directory("names", mayMake: !isReadOnly)
    if !isReadOnly { try? staged.removeUnfinished() }  // What cannot be removed is in nobody's way.
  }

  private func place(_ slot: Slot) -> Place {
    switch slot {
    case .value(let key): Place(directory: values, name: FileName(key).string)
    case .staged(let id): Place(directory: staged, name: id.description)
    case .retained(let id): Place(directory: retained, name: id.description)
    case .quarantined(let id): Place(directory: quarantine, name: id.description)
    }
  }

  func availability() -> StoreAvailability {
    do {
      try checkWritable()
      return .available
    } catch {
      return .unavailable(reason: (error as? StorageError)?.message ?? "The directory cannot be used.")
    }
  }

  // MARK: Reading

  func read(_ slot: Slot) throws -> SlotContent? {
    try values.requireInPlace()
    let place = place(slot)
    return try place.directory.read(place.name, limit: maximumValueSize).map {
      SlotContent($0.data, stamp: SlotStamp($0.stamp))
    }
  }

  func stamp(_ slot: Slot) throws -> SlotPresence? {
    try values.requireInPlace()
    let place = place(slot)
    return try place.directory.stamp(place.name).map { SlotPresence(stamp: SlotStamp($0)) }
  }

  func checkWritable() throws {
    try values.requireInPlace()
    try values.checkWritable()
  }

  /// A directory where a file should be cannot be replaced by one: said before anything is stored.
  func prepare(_ key: StoreKey) throws {
    let name = FileName(key).string
    guard try !values.isDirectory(name) else {
      throw StorageError(
        .notAStore, "There is a directory where the value's file should be: \(name).",
        advice: "Move it away. Nothing was written.")
    }
    try keepName(of: key)
  }

  func list() throws -> [Slot] {
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
    return slots
  }

  // MARK: Writing

  func write(_ data: Data, to slot: Slot) throws -> SlotStamp? {
    let place = place(slot)
    if case .value(let key) = slot { try keepName(of: key) }
    guard case .staged = slot else {
      // Only what waits may be written in place: whatever is read under its name must be whole.
      try place.directory.replace(place.name, with: data, through: staged)
      return try place.directory.stamp(place.name).map { SlotStamp($0) }
    }
    return SlotStamp(try place.directory.write(data, to: place.name))
  }

  func move(_ source: Slot, to target: Slot) throws -> SlotStamp? {
    let (from, to) = (place(source), place(target))
    // Somebody may have removed the key since its value was put aside.
    if case .value(let key) = target { try keepName(of: key) }
    try from.directory.rename(from.name, to: to.name, in: to.directory)
    return nil  // A file keeps its inode, size and date.
  }

  func copy(_ source: Slot, to target: Slot) throws {
    let (from, to) = (place(source), place(target))
    try from.directory.link(from.name, to: to.name, in: to.directory)
  }

  func delete(_ slot: Slot) throws {
    let place = place(slot)
    try place.directory.delete(place.name)
    if case .value(let key) = slot { try forgetName(of: key) }
  }

  /// A writer gives a file another date. Another size alone is no sign of one: a file that lost its end has it, too.
  func isUntouched(_ stamp: SlotStamp, since recorded: SlotStamp) -> Bool {
    let (inode, seconds, nanoseconds) = (stamp.words.0, stamp.words.2, stamp.words.3)
    return (inode, seconds, nanoseconds) == (recorded.words.0, recorded.words.2, recorded.words.3)
  }

  func syncStaged() throws { try staged.sync() }

  func sync() throws { try values.sync() }

  // MARK: Names that do not hold their key

  /// A hashed name does not tell its key, so a file under the same name in `names` holds it. A damaged one is mended.
  private func keepName(of key: StoreKey) throws {
    let name = FileName(key)
    guard name.isHashed, try hashedKey(name.string) == nil else { return }
    try names.replace(name.string, with: Data(key.string.utf8), through: staged)
  }

  private func forgetName(of key: StoreKey) throws {
    let name = FileName(key)
    if name.isHashed { try names.delete(name.string) }
  }

  /// The key whose hash is in a name; `nil` when the file that holds it is missing or damaged.
  private func hashedKey(_ name: String) throws -> StoreKey? {
    do {
      guard let content = try names.read(name, limit: StoreKey.maximumSize),
        let text = String(validating: content.data, as: UTF8.self), let key = try? StoreKey(text),
        FileName(key).string == name
      else { return nil }
      return key
    } catch let error as StorageError where error.code == .valueTooLarge || error.code == .notAStore {
      return nil  // no key is that long, and a link is nothing that we have made
    }
  }

  // MARK: Watching

  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) throws -> (@Sendable () -> Void)? {
    let id = FileWatcher.shared.watch(directory: path) { [weak self] event in self?.hear(event, heard) }
    return { FileWatcher.shared.unwatch(id) }
  }

  private func hear(_ event: FileWatcher.Event, _ heard: (SlotEvent) -> Void) {
    switch event {
    case .changed(let name):
      if let key = FileName.key(of: name) {
        heard(.changed(key))
      } else if FileName.isHashed(name) {
        // Whose it is may be known to the journal only.
        heard((try? hashedKey(name)).map { .changed($0) } ?? .anything)
      }
    case .unknown: heard(.anything)
    case .unheard:
      // Files that come and go change the directory's own date; those that are written in place do not.
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
  fileprivate init(_ stamp: FileStamp) { self.init(stamp.inode, stamp.size, stamp.seconds, stamp.nanoseconds) }
}
