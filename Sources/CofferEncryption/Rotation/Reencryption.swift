import CofferCore
import Foundation

/// Writes the values of a store anew until each has the form that its key ring demands.
///
/// Nothing but the envelopes themselves records how far it came: a value is done if it names the primary key. It can
/// therefore be killed at any point and run in several processes at once. Each commit requires the revisions that were
/// read, so that a newer value is never replaced by an older one, and that the key ring has not changed since they were
/// opened: under a changed ring they are examined again, since their keys may have been destroyed meanwhile.
struct Reencryption {
  private static let pageSize = 500
  /// The size in bytes of the values that are read at once, unless one alone is larger.
  private static let pageBytes = 4 << 20
  private static let batchSize = 125
  private static let batchBytes = 1 << 20
  /// The number of batches in work: one is sealed while another one is committed.
  private static let concurrentBatches = 2
  /// The number of passes in which a value may change while it is being written anew.
  private static let attempts = 8

  let engine: EncryptedEngine
  let rotation: KeyRotation.Run
  let origin: StoreOrigin
  /// The key under which every value shall be encrypted; `nil` if another goal is pursued.
  let target: KeyID?
  /// How often other writers have changed a value in earlier passes.
  private var conflicts: [KeyName: Int] = [:]
  /// The number of values that are read at once.
  private var readSize = Self.pageSize

  init(engine: EncryptedEngine, rotation: KeyRotation.Run, origin: StoreOrigin, target: KeyID?) {
    self.engine = engine
    self.rotation = rotation
    self.origin = origin
    self.target = target
  }

  private var base: any StorageEngine { engine.base }

  /// Passes over the store until nothing is left to change.
  mutating func run(_ report: inout KeyRotation.Report) async throws {
    let total = try await measure()
    rotation.update { $0.totalValues = total }
    while true {
      var pass = Pass()
      let generation = engine.cipher.ring.generation
      try await examineAll(&pass, after: report)
      report.changedValues += pass.changedValues
      report.changedBytes += pass.changedBytes
      (report.values, report.failures) = (pass.values, pass.failures.sorted { $0.batch < $1.batch }.map(\.failure))
      // Under a new key one pass is enough: every commit that followed the change of the ring has used that key. While
      // plain values are accepted, other programs may have added some behind the pass.
      let isDone = (target != nil || pass.changedValues == 0) && pass.conflicts.isEmpty
      // A value that was read before another rotation removed its key must be read again.
      let isUncertain = !pass.failures.isEmpty && engine.cipher.ring.generation != generation
      if isDone, !isUncertain { break }
      for case let name? in pass.conflicts { conflicts[name, default: 0] += 1 }
      rotation.update { $0.values = 0 }
    }
    // The old keys are removed next, which must not survive a power loss that the new values do not survive.
    try await base.flush()
  }

  /// What was done in a pass, or with one batch of it.
  private struct Pass {
    /// The number of the batch.
    var batch = 0
    var values = 0
    var changedValues = 0
    var changedBytes = 0
    /// The values that another writer has changed meanwhile.
    var conflicts: [KeyName?] = []
    var failures: [(batch: Int, failure: KeyRotation.Report.Failure)] = []

    mutating func add(_ done: Pass) {
      changedValues += done.changedValues
      changedBytes += done.changedBytes
      conflicts += done.conflicts
      failures += done.failures
    }
  }

  /// Returns the number of values, and chooses how many are read at once.
  private mutating func measure() async throws -> Int {
    var (count, largest) = (0, 0)
    try await base.forEachStoredPart { part in
      count += part.count
      largest = part.reduce(largest) { max($0, $1.size ?? 0) }
    }
    readSize = min(Self.pageSize, max(1, Self.pageBytes / max(1, largest)))
    return count
  }

  private func summaries(after last: KeyName?) async throws -> [StoreEntry.Summary] {
    try await base.withAllStored { try await $0.summaries(prefix: nil, after: last, limit: readSize) }
  }

  private func examineAll(_ pass: inout Pass, after report: KeyRotation.Report) async throws {
    var last: KeyName?
    try await withThrowingTaskGroup(of: Pass.self) { group in
      var running = 0
      while true {
        let part = try await stored(after: last, &pass)
        guard let end = part.end else { break }
        pass.values += part.count
        var rest = part.entries[...]
        while !rest.isEmpty {
          try Task.checkCancellation()
          let entries = rest.prefix(Self.batchSize).prefix(within: Self.batchBytes) { $0.value.count }
          rest = rest.dropFirst(entries.count)
          if running == Self.concurrentBatches, let done = try await group.next() {
            running -= 1
            pass.add(done)
          }
          pass.batch += 1
          group.addTask { [batch = pass.batch] in try await examine(entries, Pass(batch: batch)) }
          running += 1
        }
        emit(pass, after: report)
        last = end
      }
      for try await done in group { pass.add(done) }
    }
    emit(pass, after: report)
  }

  private func emit(_ pass: Pass, after report: KeyRotation.Report) {
    rotation.update { progress in
      progress.values = pass.values
      progress.changedValues = report.changedValues + pass.changedValues
      progress.changedBytes = report.changedBytes + pass.changedBytes
    }
  }

  /// Examines values as they are stored, and writes those anew that need it.
  private func examine(_ entries: ArraySlice<StoreEntry>, _ start: Pass) async throws -> Pass {
    var (pass, rest) = (start, Array(entries))
    for _ in 0..<Self.attempts {
      var changes: [Change] = []
      for entry in rest {
        do {
          if let change = try await change(of: entry) { changes.append(change) }
        } catch let error as StorageError {
          try record(error, isNamed: !entry.attributes.isMarked, &pass)
        }
      }
      rest = try await commit(changes, &pass)
      if rest.isEmpty { return pass }
    }
    pass.conflicts += rest.map { _ in nil }
    return pass
  }

  /// Some values as they are stored, in the order of their keys.
  private struct Part {
    let entries: [StoreEntry]
    /// The number of values, with those that cannot be read.
    let count: Int
    /// The key of the last of them; `nil` at the end of the store.
    let end: KeyName?
  }

  /// Reads the values after a key, in a snapshot of its own: a long one would keep the log from being checkpointed. If
  /// one of them cannot be read, each is read by itself.
  private func stored(after last: KeyName?, _ pass: inout Pass) async throws -> Part {
    do {
      let page = try await base.withAllStored { try await $0.page(prefix: nil, after: last, limit: readSize) }
      return Part(entries: page, count: page.count, end: page.last?.key)
    } catch let error as StorageError where error.code == .damaged {
      let page = try await summaries(after: last)[...].prefix(within: Self.batchBytes) {
        $0.size ?? Self.batchBytes / 64
      }
      var entries: [StoreEntry] = []
      for summary in page {
        do {
          entries += try await base.withAllStored { try await $0.entries([summary.key]) }.compactMap { $0 }
        } catch let error as StorageError where error.code == .damaged {
          try record(error, isNamed: !summary.attributes.isMarked, &pass)
        }
      }
      return Part(entries: entries, count: page.count, end: page.last?.key)
    }
  }

  /// The codes of errors that concern one value, so that the others are written anew.
  private static let ofOneValue: [StorageError.Code] = [
    .damaged, .keyUnavailable, .newerFormat, .notEncrypted, .valueTooLarge, .unsupported,
  ]

  /// - Parameter isNamed: whether the value is stored under its name, also where names are hidden.
  private func record(_ error: StorageError, isNamed: Bool = false, _ pass: inout Pass) throws {
    guard Self.ofOneValue.contains(error.code) else { throw error }
    // The key of a damaged value whose name is hidden is a hash.
    let names = isNamed ? nil : engine.cipher.names
    let name = error.key.flatMap { key in names.map { $0.knownName(of: key) } ?? key }
    pass.failures.append((pass.batch, KeyRotation.Report.Failure(key: name, error: error, isNamed: isNamed)))
  }

  private struct Change {
    let name: KeyName
    let stored: StoreEntry
    /// The state of the ring under which the value was opened.
    let cipher: StoreCipher
    /// The size of the opened value.
    var size = 0
    /// The new form of the value; `nil` for one that has expired, which is removed.
    var form: StoreCipher.Stored?

    var operations: [WriteBatch.Operation] {
      // For preconditions a value that has expired is absent.
      guard let form else { return [.require(stored.key, nil), .delete(stored.key)] }
      let put = [
        .require(stored.key, stored.revision), WriteBatch.Operation.put(form.key, form.value, form.attributes),
      ]
      return form.key == stored.key ? put : [.require(form.key, nil)] + put + [.delete(stored.key)]
    }
  }

  /// Returns the value to write anew, or `nil` if it has the right form.
  private func change(of stored: StoreEntry) async throws -> Change? {
    try await engine.opening { cipher in
      // A pass that compared values with two keys in turn would prove nothing about either.
      guard target == nil || target == cipher.ring.primary.id else {
        throw StorageError.isRotatedElsewhere(engine.description)
      }
      let name = try cipher.name(of: stored.key, stored.attributes)
      guard cipher.mustChange(stored, of: name) else { return nil }
      guard !stored.attributes.isMarked || cipher.ring.phase == .decrypting || cipher.algorithm(of: name) != nil else {
        throw StorageError.isDeclaredElsewhere(name, location: engine.description)
      }
      var change = Change(name: name, stored: stored, cipher: cipher)
      guard !stored.attributes.isExpired(at: engine.clock.now()) else { return change }
      let entry = try cipher.open(stored, of: name)
      change.size = entry.value.count
      change.form = try cipher.stored(name, entry.value, entry.attributes)
      return change
    }
  }

  /// Writes values anew under the state of the ring under which they were opened.
  /// - Returns: what must be examined again, since the ring was changed.
  private func commit(_ changes: [Change], _ pass: inout Pass) async throws -> [StoreEntry] {
    // The oldest state: if the ring was changed between two of them, the commit fails.
    guard let cipher = changes.first?.cipher else { return [] }
    do {
      // Not relaxed: after a power loss the store would report relaxed commits as lost, which no user has made.
      let batch = WriteBatch(cipher.precondition + changes.flatMap(\.operations))
      try await engine.store(batch, under: cipher, from: origin)
      pass.changedValues += changes.count
      pass.changedBytes += changes.reduce(0) { $0 + $1.size }
    } catch let error as StorageError where error.code == .preconditionFailed || Self.ofOneValue.contains(error.code) {
      let isUnchanged = try await engine.ciphers.reload(after: cipher) === cipher
      guard isUnchanged || error.code != .preconditionFailed else { return changes.map(\.stored) }
      // One of them was changed by another writer, or cannot be written. The others are written by themselves.
      guard let change = changes.first, changes.count == 1 else {
        var rest: [StoreEntry] = []
        for change in changes { rest += try await commit([change], &pass) }
        return rest
      }
      guard error.code == .preconditionFailed else {
        try record(error.renaming { _ in change.name }.locating(at: "", key: change.name), isNamed: true, &pass)
        return []
      }
      guard conflicts[change.name, default: 0] + 1 < Self.attempts else {
        let busy = StorageError(
          .busy, "Other programs keep changing the value, or it is stored in plain and encrypted at once.",
          advice: "Close programs that write to the store without encryption, and run the same operation again.",
          location: engine.description, key: change.name)
        pass.failures.append((pass.batch, KeyRotation.Report.Failure(key: change.name, error: busy, isNamed: false)))
        return []
      }
      pass.conflicts.append(change.name)
    }
    return []
  }
}

extension ArraySlice {
  /// Returns the first elements up to a total size, and at least one.
  fileprivate func prefix(within limit: Int, size: (Element) -> Int) -> ArraySlice {
    var total = 0
    return prefix { element in
      defer { total += size(element) }
      return total < limit
    }
  }
}

extension StoreCipher {
  /// Whether a stored value has another form than the key ring demands.
  func mustChange(_ stored: StoreEntry, of name: KeyName) -> Bool {
    // In a store that is complete, opening a plain value reports it.
    guard stored.attributes.isMarked else {
      return ring.phase == .decrypting ? mayNeedRing(stored) : !staysPlain(name) && algorithm(of: name) != nil
    }
    guard ring.phase != .decrypting else { return true }
    guard let header = try? EnvelopeHeader(of: stored.value) else { return true }  // opening it reports the damage
    return header.keyID != ring.primary.id
  }

  /// Whether bytes without the mark of the encryption were found as an envelope, as after a file was put back from a
  /// backup: without the key ring, they would never open.
  private func mayNeedRing(_ stored: StoreEntry) -> Bool {
    guard stored.attributes.isSealed else { return false }
    return ring.coverage == .all || (try? EnvelopeHeader(of: stored.value)).map { ring.keys[$0.keyID] != nil } ?? false
  }
}

extension StorageError {
  fileprivate static func isRotatedElsewhere(_ location: String) -> StorageError {
    StorageError(
      .busy, "Another rotation of the store has begun, with a newer key.",
      advice: "Let it finish, or rotate again. Every value can be read.", location: location)
  }

  /// Returns the error for an encrypted value that would be stored in plain.
  fileprivate static func isDeclaredElsewhere(_ key: KeyName, location: String) -> StorageError {
    StorageError(
      .unsupported, "The value is encrypted, and this program does not declare that it is.",
      advice: "Run the rotation in the program that declares it. The value stays as it is.", location: location,
      key: key)
  }
}
