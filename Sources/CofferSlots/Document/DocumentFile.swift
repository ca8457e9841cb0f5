import CofferCore
import CofferFileSystem
import CofferLocks
import CofferSQLite
import Foundation

/// The file of a ``DocumentSlots``: read once per change of it, replaced atomically.
final class DocumentFile<Format: DocumentFormat>: Sendable {
  private struct State {
    /// What the file said when it was read or written last.
    var read: Reading?
    /// The state of the file whose every change is known: written by us, or told to who listens.
    var known: FileStamp?
    /// What was in it, for the moments when its stamp does not tell one change from the next.
    var knownHash: Int?
    var reported: Set<FileStamp> = []
    /// The damaged state of the file that may be replaced by what the copy says.
    var accepted: FileStamp?
  }

  private struct Reading {
    let stamp: FileStamp
    let bytes: Data
    let document: Format.Document
    /// Whether the stamp alone tells this state of the file from the next.
    let isSettled: Bool
    /// Whether the file is damaged, and this is what its copy says.
    var isCopy = false
  }

  /// How long a file must have been left alone before its date can be trusted, in nanoseconds: the clock of a file
  /// system ticks every few milliseconds.
  private let settling: UInt64 = 20_000_000
  /// Half a file may be one that is being written: how often and how long to wait for the other half.
  private let patience = (rounds: 40, microseconds: UInt32(5_000))
  private let maximumSize = 1 << 30

  private let format: Format
  private let path: String
  private let fileName: String
  private let name: String
  private let parent, control, staged: Directory
  /// Where damaged bytes are kept; `nil` where nothing can be written, nor overwritten.
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
    // A link to the file, as people make for files that they keep elsewhere, stays a link: what it leads to is ours.
    self.path = try PathParts.resolvingLink(path)
    let parts = PathParts(self.path)
    fileName = parts.last
    try OpenDirectory.refuseForeignLinks(in: parts.parent)
    parent = try Directory(parts.parent, backend: name)
    let stamp = try? parent.stamp(fileName)
    state.withLock { $0.known = stamp }
  }

  func checkWritable() throws {
    try parent.requireInPlace()
    try parent.checkWritable()
  }

  // MARK: Reading

  /// What the file says now. A file that makes no sense gives what we have written last, if that was kept; else throws
  /// `damaged`.
  func document() throws -> Format.Document {
    try parent.requireInPlace()
    if let read = try unchanged() { return read.document }
    return try readAgain().document
  }

  /// Whether ``document()`` needs not look into the file, nor wait for somebody who is writing it.
  var isRead: Bool { ((try? unchanged()) ?? nil) != nil }

  private func unchanged() throws -> Reading? {
    let stamp = try parent.stamp(fileName)
    return state.withLock { $0.read }.flatMap { $0.isSettled && $0.stamp == stamp ? $0 : nil }
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
      // An old one does not become whole by waiting.
      if isSettled(content.stamp, for: 1_000_000_000), round > 0 { break }
      usleep(patience.microseconds)
    }
    guard let failure else { throw StorageError(.inputOutput, "The file could not be read.", backend: name) }
    return (failure.content.stamp, try lastCopy(insteadOf: failure.content, failure.error), true)
  }

  /// Takes a file apart, unless its bytes are those that were taken apart last: while somebody else writes all the
  /// time, its date is always too young to be trusted.
  private func document(of content: FileContent) throws -> Format.Document {
    let isSettled = isSettled(content.stamp)
    let last = state.withLock { $0.read }
    let document: Format.Document
    if let last, !last.isCopy, last.bytes == content.data {
      document = last.document
    } else {
      if try seal()?.isBroken(by: content) ?? false { throw altered }
      document = try format.decode(content.data)
    }
    let reading = Reading(stamp: content.stamp, bytes: content.data, document: document, isSettled: isSettled)
    state.withLock { $0.read = reading }
    return document
  }

  /// Whether the clock has ticked since, so that another change would have another date; one that is in the future is
  /// no date that a change made now would have.
  private func isSettled(_ stamp: FileStamp, for age: UInt64? = nil) -> Bool {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let present = UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
    let written = stamp.seconds &* 1_000_000_000 &+ stamp.nanoseconds
    return (present > written ? present - written : written - present) > age ?? settling
  }

  // MARK: Damage

  private let copyName = "copy"
  private let sealName = "seal"

  /// What is known of the file that was written last.
  private func seal() throws -> DocumentSeal? {
    try control.read(sealName, limit: 4_096).flatMap { DocumentSeal($0.data) }
  }

  private var altered: StorageError {
    StorageError(.damaged, "The file is damaged: its bytes are not those that were written, and nobody has edited it.")
  }

  /// Keeps the damaged bytes, once, and gives what was written last.
  private func lastCopy(insteadOf content: FileContent, _ error: StorageError) throws -> Format.Document {
    let kept = try keep(content)
    let seal = (try? seal()) ?? nil
    let copy = try? control.read(copyName, limit: maximumSize).flatMap { copy -> Format.Document? in
      // Of a file that only we have written, no other state may take its place.
      if let seal, seal.isBroken(by: content), !seal.isOf(copy.data) { return nil }
      return try format.decode(copy.data)
    }
    let isFirst = state.withLock { $0.reported.insert(content.stamp).inserted }
    if isFirst {
      onDamage?(
        DamageReport(
          key: nil, revision: .zero, size: content.data.count, backend: name, isCopyUsed: copy.flatMap { $0 } != nil))
    }
    guard let document = copy ?? nil else {
      throw StorageError(
        .damaged, "\(error.message) \(path.escapingControlCharacters)",
        advice: "\(kept) Put a backup in its place, or move it away to begin anew.",
        backend: name)
    }
    let reading = Reading(
      stamp: content.stamp, bytes: content.data, document: document, isSettled: isSettled(content.stamp), isCopy: true)
    state.withLock { $0.read = reading }
    return document
  }

  /// Whether the file is damaged now, and what it says is what its copy says.
  var servesCopy: Bool {
    guard (try? document()) != nil else { return false }
    return state.withLock { $0.read?.isCopy ?? false }
  }

  /// Lets the damaged file be replaced by what its copy says.
  func acceptCopy() {
    state.withLock { state in
      if let read = state.read, read.isCopy { state.accepted = read.stamp }
    }
  }

  /// What is damaged of the file and its copy, a sentence each.
  func problems() -> [String] {
    let files = [(what: "The file", parent, fileName), (what: "The copy", control, copyName)]
    return files.compactMap { what, directory, name in
      do {
        guard let content = try directory.read(name, limit: maximumSize) else {
          if directory === parent { _ = try format.missing() }  // A store to which nothing was written has no copy.
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

  /// - Returns: Where they are, as a sentence.
  /// - Throws: When they cannot be kept: then nothing may be written over them.
  private func keep(_ content: FileContent) throws -> String {
    guard let quarantine else { return "Its bytes stay where they are." }
    let name = "damaged-\(content.stamp.inode)-\(content.stamp.seconds)-\(content.stamp.nanoseconds)"
    // Through another directory: several readers may do this at once, or be killed in its middle.
    if try quarantine.stamp(name) == nil { try quarantine.replace(name, with: content.data, through: staged) }
    return "Its bytes were kept as quarantine/\(name)."
  }

  // MARK: Writing

  /// Replaces the file by a changed one, keeping what others have written into it meanwhile. Only one process at a time
  /// does this.
  func change(_ body: (inout Format.Document) throws -> Void) throws {
    // Others take no locks: the file is looked at once more just before it is replaced.
    for _ in 0..<16 where try changeOnce(body) { return }
    throw StorageError(
      .busy, "Somebody else is writing the file all the time.", advice: "Try again.", backend: name)
  }

  /// - Returns: Whether nobody else has changed the file meanwhile.
  private func changeOnce(_ body: (inout Format.Document) throws -> Void) throws -> Bool {
    let before = try readAgain()
    guard !before.isCopy || state.withLock({ $0.accepted == before.stamp }) else {
      throw StorageError(
        .damaged, "The file was damaged while a commit was about to be written to it.", advice: "", backend: name)
    }
    var document = before.document
    try body(&document)
    let (bytes, written) = try encoded(document)
    // Before the file itself: whoever is killed in between has committed it, and the next one puts it into the file.
    // Not synced: it serves when somebody else breaks the file, not when the power goes.
    do { try control.replaceUnsynced(copyName, with: bytes) } catch let error as StorageError {
      throw StorageError(
        error.code, "The copy of the file could not be written: \(error.message)", advice: error.advice, backend: name,
        underlying: error.underlying)
    }
    let after: FileStamp?
    do {
      after = try parent.opened().replace(
        fileName, with: bytes, scratch: scratchName, isReserved: true,
        onlyIf: { [parent, fileName] in (try? parent.stamp(fileName)) == before.stamp })
    } catch {
      throw error.locating(backend: name)
    }
    guard let after else { return false }
    // Not synced either: without it the file is trusted, as one that somebody else has written.
    try? control.replaceUnsynced(sealName, with: DocumentSeal(bytes, after).encoded)
    // The stamp is that of the file that was put there, whatever somebody has put there since.
    let reading = Reading(stamp: after, bytes: bytes, document: written, isSettled: false)
    state.withLock { state in
      state.read = reading
      if state.known == before.stamp { (state.known, state.knownHash) = (after, Self.hash(bytes)) }
    }
    return true
  }

  private var scratchName: String { ".\(fileName).coffer-new" }

  /// Makes sure of the room for the file and its copy, were both so much larger than they are.
  func reserve(additional count: Int) throws {
    let sizes = [try parent.stamp(fileName)?.size, try control.stamp(copyName)?.size]
    let size = Int(sizes.compactMap { $0 }.max() ?? 0) + count
    try control.reserve(copyName + ".new", count: size)
    do { try parent.reserve(scratchName, count: size) } catch {
      try? control.delete(copyName + ".new")
      throw error
    }
  }

  /// Whether there is room that was made sure of and not used.
  var hasRoom: Bool {
    let copy = try? control.stamp(copyName + ".new")
    let file = try? parent.stamp(scratchName)
    return copy.flatMap { $0 } != nil || file.flatMap { $0 } != nil
  }

  /// Gives back the room that ``reserve(additional:)`` has made sure of.
  func release() {
    try? control.delete(copyName + ".new")
    try? parent.delete(scratchName)
  }

  /// What cannot be read back must not replace what can.
  private func encoded(_ document: Format.Document) throws -> (bytes: Data, document: Format.Document) {
    do {
      let bytes = try format.encode(document)
      guard bytes.count <= maximumSize else {
        throw StorageError(.valueTooLarge, "the file would have more than \(maximumSize) bytes.")
      }
      return (bytes, try format.decode(bytes))
    } catch {
      throw StorageError(
        .encodingFailed, "The values cannot be written as one file: \((error as? StorageError)?.message ?? "\(error)")",
        advice: "Remove the value that was stored last.", backend: name)
    }
  }

  /// Returns when the file's name has survived power loss.
  func syncName() throws { try parent.sync() }

  // MARK: Watching

  func watch(_ heard: @escaping @Sendable (SlotEvent) -> Void) -> @Sendable () -> Void {
    let id = FileWatcher.shared.watch(directory: PathParts(path).parent) { [weak self, fileName] event in
      switch event {
      case .changed(let name) where name == fileName: self?.compare(heard)
      case .unknown, .unheard: self?.compare(heard)
      case .interval: heard(.availability)
      case .changed, .written: break
      }
    }
    return { FileWatcher.shared.unwatch(id) }
  }

  private static func hash(_ bytes: Data) -> Int {
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  /// Tells of a state of the file that is not known yet.
  private func compare(_ heard: @Sendable (SlotEvent) -> Void) {
    let stamp: FileStamp?
    do { stamp = try parent.stamp(fileName) } catch {
      heard(.anything)
      return heard(.availability)
    }
    let isYoung = stamp.map { !isSettled($0) } ?? false
    let hash = isYoung ? ((try? parent.read(fileName, limit: maximumSize)) ?? nil).map { Self.hash($0.data) } : nil
    let isNew = state.withLock { state in
      defer { (state.known, state.knownHash) = (stamp, hash ?? state.knownHash) }
      return state.known != stamp || (isYoung && state.knownHash != hash)
    }
    if isNew {
      heard(.anything)
      heard(.availability)
    }
  }
}
