import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// The file of a ``DocumentSlots``. It is read once per change and replaced atomically.
final class DocumentFile<Format: DocumentFormat>: Sendable {
  private struct State {
    /// The content when the file was last read or written.
    var read: Reading?
    /// The stamp of the latest state that was written here or reported to the watcher.
    var known: FileStamp?
    /// The checksum of that state's bytes, for changes that are too close together for their stamps to differ; `nil` if
    /// it was not needed.
    var knownSum: UInt32?
    /// Whether that stamp was not settled when it was noted, so that later changes may have it too.
    var isKnownYoung = false
    /// Whether the move of a file written here was not heard of yet.
    var expectsMove = false
    var reported: Set<FileStamp> = []
    /// The stamp of a damaged state that may be replaced by the copy.
    var accepted: FileStamp?
  }

  private struct Reading {
    let stamp: FileStamp
    let bytes: Data
    /// The checksum of the bytes.
    let sum: UInt32
    let document: Format.Document
    /// Whether the stamp alone distinguishes this state of the file from the next.
    let isSettled: Bool
    /// Whether the file is damaged and this is the content of its copy.
    var isCopy = false
  }

  /// The age, in nanoseconds, from which a modification time identifies a state of the file: the clock of a file system
  /// ticks every few milliseconds.
  private let settling: UInt64 = 20_000_000
  /// The number of retries and the pause between them for a file that may still be being written.
  private let patience = (rounds: 40, microseconds: UInt32(5_000))
  private let maximumSize = 1 << 30

  private let format: Format
  private let path: String
  private let fileName: String
  let name: String
  private let parent, control, staged: Directory
  /// The parent, to replace the file in it; `nil` in a read-only store.
  private let replacing: OpenDirectory?
  /// The directory for damaged bytes; `nil` in a read-only store, which overwrites nothing.
  private let quarantine: Directory?
  private let onDamage: (@Sendable (DamageReport) -> Void)?
  private let state = Locked(State())

  init(
    _ format: Format, at path: String, copyIn control: Directory, staged: Directory, quarantine: Directory?,
    name: String, onDamage: (@Sendable (DamageReport) -> Void)?
  ) throws {
    self.format = format
    self.control = control
    self.staged = staged
    self.quarantine = quarantine
    self.name = name
    self.onDamage = onDamage
    // A symbolic link to the file stays a link; its target is read and replaced.
    self.path = try PathParts.resolvingLink(path)
    let parts = PathParts(self.path)
    fileName = parts.last
    try OpenDirectory.refuseForeignLinks(in: parts.parent)
    parent = try Directory(parts.parent, location: name)
    replacing = quarantine == nil ? nil : try parent.opened()
    let stamp = try? parent.stamp(fileName)
    state.withLock { $0.known = stamp }
  }

  func checkWritable() throws {
    try parent.requireInPlace()
    try parent.checkWritable()
    try HardLinks.refuseReplaced(path, location: name)
    _ = try expected()  // An unreadable file must not be replaced.
    try parent.checkReadable(fileName)  // even if its content is known: the commit reads it again
  }

  // MARK: Reading

  /// Returns the current content of the file. For a damaged file it returns the content written last, if the copy of
  /// that is intact, and throws `damaged` otherwise.
  func document() throws -> Format.Document {
    try parent.requireInPlace()
    if let read = try unchanged() { return read.document }
    return try readAgain().document
  }

  /// Returns the content that a commit will meet, unless another program edits the file in the meantime: it need not be
  /// certain, since the commit reads the file again before it replaces it.
  func expected() throws -> Format.Document {
    // A damaged file may be complete by now.
    if let read = try unchanged(orYoung: true), read.isSettled || !read.isCopy { return read.document }
    return try readAgain().document
  }

  /// Whether ``document()`` would return without reading the file or waiting for a writer.
  var isRead: Bool { ((try? unchanged()) ?? nil) != nil }

  /// Whether a file that was read before no longer exists.
  var isDeleted: Bool { state.withLock { $0.read } != nil && (try? parent.stamp(fileName)) == .some(nil) }

  private func unchanged(orYoung: Bool = false) throws -> Reading? {
    let stamp = try parent.stamp(fileName)
    return state.withLock { $0.read }.flatMap { ($0.isSettled || orYoung) && $0.stamp == stamp ? $0 : nil }
  }

  private func readAgain() throws -> (stamp: FileStamp?, document: Format.Document, isCopy: Bool) {
    var failure: (content: FileContent, error: StorageError)?
    for round in 0..<patience.rounds {
      guard let content = try parent.read(fileName, limit: maximumSize) else {
        return (nil, try format.missing(), false)
      }
      do {
        let document = try document(of: content)
        return (content.stamp, document, false)
      } catch let error as StorageError where error.code == .damaged {
        failure = (content, error)
      }
      // A file that was last written more than a second ago is not being written.
      if isSettled(content.stamp, for: 1_000_000_000), round > 0 { break }
      usleep(patience.microseconds)
    }
    guard let failure else { throw StorageError(.inputOutput, "The file could not be read.", location: name) }
    return (failure.content.stamp, try lastCopy(insteadOf: failure.content, failure.error), true)
  }

  /// Decodes a file, unless its bytes are those decoded last: while another program keeps writing, its modification
  /// time is always too recent to identify its content.
  private func document(of content: FileContent) throws -> Format.Document {
    let isSettled = isSettled(content.stamp)
    let last = state.withLock { $0.read }
    let document: Format.Document
    let sum: UInt32
    if let last, !last.isCopy, last.bytes == content.data {
      (document, sum) = (last.document, last.sum)
    } else {
      if try seal()?.isBroken(by: content) ?? false { throw altered }
      (document, sum) = (try format.decode(content.data), Self.sum(content.data))
    }
    let reading = Reading(
      stamp: content.stamp, bytes: content.data, sum: sum, document: document, isSettled: isSettled)
    state.withLock { $0.read = reading }
    return document
  }

  /// Whether the stamp is old enough that a change made now would have another modification time. So is one far enough
  /// in the future.
  private func isSettled(_ stamp: FileStamp, for age: UInt64? = nil) -> Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let present = UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    let written = stamp.seconds &* 1_000_000_000 &+ stamp.nanoseconds
    return (present > written ? present - written : written - present) > age ?? settling
  }

  // MARK: Damage

  private let copyName = "copy"
  private let waitingCopyName = "copy.new"
  private let sealName = "seal"

  /// Returns the seal of the file that was written last.
  private func seal() throws -> DocumentSeal? {
    try control.read(sealName, limit: 4_096).flatMap { DocumentSeal($0.data) }
  }

  private var altered: StorageError {
    StorageError(.damaged, "The file is damaged: its bytes are not those that were written, and it was not edited.")
  }

  /// Quarantines the damaged bytes, once, and returns the content written last.
  private func lastCopy(insteadOf content: FileContent, _ error: StorageError) throws -> Format.Document {
    let kept = try keep(content)
    let seal = (try? seal()) ?? nil
    let copy = try? control.read(copyName, limit: maximumSize).flatMap { copy -> Format.Document? in
      // A file that only Coffer has written is replaced by exactly that state or none.
      if let seal, seal.isBroken(by: content), !seal.isOf(copy.data) { return nil }
      return try format.decode(copy.data)
    }
    let isFirst = state.withLock { $0.reported.insert(content.stamp).inserted }
    if isFirst {
      onDamage?(
        DamageReport(
          key: nil, revision: .zero, size: content.data.count, location: name, isCopyUsed: copy.flatMap { $0 } != nil,
          quarantineID: kept))
    }
    guard let document = copy ?? nil else {
      throw StorageError(
        .damaged, "\(error.message) \(path.escapingControlCharacters)",
        advice: "\(kept.map { "Its bytes were kept as quarantine/\($0)." } ?? "Its bytes stay where they are.") "
          + "Restore a backup of the file, or move it away to start with an empty store.",
        location: name)
    }
    let reading = Reading(
      stamp: content.stamp, bytes: content.data, sum: Self.sum(content.data), document: document,
      isSettled: isSettled(content.stamp), isCopy: true)
    state.withLock { $0.read = reading }
    return document
  }

  /// Whether the file is damaged and reads are served from its copy.
  var servesCopy: Bool {
    guard (try? expected()) != nil else { return false }
    return state.withLock { $0.read?.isCopy ?? false }
  }

  /// Allows the damaged file to be replaced by the content of its copy.
  func acceptCopy() {
    state.withLock { state in
      if let read = state.read, read.isCopy { state.accepted = read.stamp }
    }
  }

  /// Returns a sentence for each of the file and its copy that is damaged.
  func problems() -> [String] {
    let files = [(what: "The file", parent, fileName), (what: "The copy", control, copyName)]
    return files.compactMap { what, directory, name in
      do {
        guard let content = try directory.read(name, limit: maximumSize) else {
          if directory === parent { _ = try format.missing() }  // A store that was never written has no copy.
          return nil
        }
        _ = try format.decode(content.data)
        return nil
      } catch {
        let reason = (error as? StorageError)?.message ?? "\(error)"
        return "\(what) cannot be read. \(reason)"
      }
    }
  }

  /// Copies damaged bytes to the quarantine.
  /// - Returns: Their name there; `nil` in a read-only store, which leaves them where they are.
  /// - Throws: An error if they cannot be kept; the file must not be overwritten then.
  private func keep(_ content: FileContent) throws -> String? {
    guard let quarantine else { return nil }
    let name = "damaged-\(content.stamp.inode)-\(content.stamp.seconds)-\(content.stamp.nanoseconds)"
    // Written elsewhere and renamed: several readers may do this at once, and each can be killed halfway.
    if try quarantine.stamp(name) == nil { try quarantine.replace(name, with: content.data, through: staged) }
    return name
  }

  // MARK: Writing

  /// Replaces the file by a changed one, preserving what other programs have written to it meanwhile. Only one process
  /// at a time may call this.
  func change(_ body: (inout Format.Document) throws -> Void) throws {
    try HardLinks.refuseReplaced(path, location: name)
    // Other programs take no locks: the stamp is compared once more just before the file is replaced.
    for _ in 0..<16 where try changeOnce(body) { return }
    throw StorageError(
      .busy, "Another process keeps writing the file.", advice: "Try again.", location: name)
  }

  /// - Returns: Whether the file was replaced; `false` if another program has changed it meanwhile.
  private func changeOnce(_ body: (inout Format.Document) throws -> Void) throws -> Bool {
    let before = try readAgain()
    guard !before.isCopy || state.withLock({ $0.accepted == before.stamp }) else {
      throw StorageError(
        .damaged, "The file was damaged while a commit was about to be written to it.", advice: "", location: name)
    }
    var document = before.document
    try body(&document)
    let bytes = try encoded(&document)
    let sum = Self.sum(bytes)
    let sumBefore = state.withLock { $0.read }?.sum
    let after: FileStamp?
    do {
      after = try replacing?.replace(fileName, with: bytes, scratch: ".\(fileName).coffer-new") { new in
        guard (try? parent.stamp(fileName)) == before.stamp else { return false }
        // Known before it is there: the watcher looks before this call returns. An edit that it has not heard of yet,
        // which has the stamp of the known state, is not.
        state.withLock { state in
          guard state.known == before.stamp, state.knownSum == nil || state.knownSum == sumBefore else { return }
          (state.known, state.knownSum, state.isKnownYoung, state.expectsMove) = (new, sum, true, true)
        }
        return true
      }
    } catch {
      throw error.locating(at: name)
    }
    guard let after else { return false }
    keepCopy(bytes, sum, after)
    // The stamp is that of the file just published, even if another program has replaced it since.
    let reading = Reading(stamp: after, bytes: bytes, sum: sum, document: document, isSettled: false)
    state.withLock { $0.read = reading }
    return true
  }

  /// Writes the copy and the seal without a sync: the file itself is synced, so all that can be lost is its protection,
  /// until ``repairCopy()``, or if a power loss tears both. The next commit makes up for an error. The copy is written
  /// under another name, since a mixture of two copies that a kill leaves might be decodable.
  private func keepCopy(_ bytes: Data, _ sum: UInt32, _ stamp: FileStamp) {
    do {
      _ = try control.write(bytes, to: waitingCopyName, isSynced: false)
      try control.exchange(waitingCopyName, replacing: copyName)
    } catch {
      try? control.delete(copyName)  // An older state must not pass for the one that the seal is of.
    }
    _ = try? control.write(DocumentSeal(bytes, sum, stamp).encoded, to: sealName, isSynced: false)
  }

  /// Writes a copy again that a power loss has left torn, or that a kill has left out or without its seal. Only one
  /// process at a time may call this.
  func repairCopy() throws {
    try? control.delete(waitingCopyName)  // After a kill, the state before: it may have values that were deleted.
    let (copy, seal) = (try control.read(copyName, limit: maximumSize), try seal())
    if copy.map({ seal?.isOf($0.data) ?? false }) ?? (seal == nil) { return }
    let present = try readAgain()
    guard let stamp = present.stamp, !present.isCopy, let read = state.withLock({ $0.read }) else { return }
    keepCopy(read.bytes, read.sum, stamp)
  }

  private func encoded(_ document: inout Format.Document) throws -> Data {
    do {
      let bytes = try format.encode(&document)
      guard bytes.count <= maximumSize else {
        throw StorageError(.valueTooLarge, "the file would have more than \(maximumSize) bytes.")
      }
      return bytes
    } catch {
      throw StorageError(
        .encodingFailed, "The values cannot be written as one file: \((error as? StorageError)?.message ?? "\(error)")",
        advice: "Remove the value that was stored last.", location: name)
    }
  }

  /// Syncs the name of the file to the device.
  func syncName() throws { try parent.sync() }

  // MARK: Watching

  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) -> @Sendable () -> Void {
    let id = FileWatcher.shared.watch(directory: PathParts(path).parent) { [weak self, fileName] event in
      switch event {
      case .changed(let name, let inPlace) where name == fileName: self?.compare(isMoved: !inPlace, heard)
      case .unknown, .unheard: self?.compare(heard)
      case .interval: heard(.availability)
      case .changed, .written: break
      }
    }
    return { FileWatcher.shared.unwatch(id) }
  }

  private static func sum(_ bytes: Data) -> UInt32 { bytes.withUnsafeBytes { checksumOfBytes($0) } }

  /// Reports the present state of the file unless it is known.
  /// - Parameter isMoved: whether a file was moved to the path: once for each that was written here.
  private func compare(isMoved: Bool = false, _ heard: @Sendable (SlotEvent) -> Void) {
    let stamp: FileStamp?
    do { stamp = try parent.stamp(fileName) } catch {
      heard(.anything)
      return heard(.availability)
    }
    let isOwn = state.withLock { state in
      defer { state.expectsMove = false }
      return isMoved && state.expectsMove && state.known == stamp
    }
    if isOwn { return }
    let isYoung = stamp.map { !isSettled($0) } ?? false
    let mustRead = isYoung || state.withLock { $0.isKnownYoung }
    let sum = mustRead ? ((try? parent.read(fileName, limit: maximumSize)) ?? nil).map { Self.sum($0.data) } : nil
    let isNew = state.withLock { state in
      defer {
        if state.known != stamp || mustRead { state.knownSum = sum }
        (state.known, state.isKnownYoung) = (stamp, isYoung)
      }
      return state.known != stamp || (mustRead && state.knownSum != sum)
    }
    if isNew {
      heard(.anything)
      heard(.availability)
    }
  }
}
