import CofferCore
import CofferCrypto
import Foundation

/// Writes the values of a store anew until each has the form that its key ring demands.
///
/// Nothing but the envelopes themselves records how far it came: a value is done if it names the primary key. It can
/// therefore be killed at any point and run in several processes at once. Each commit requires the revisions that were
/// read, so that a newer value is never replaced by an older one, and that the key ring has not changed.
struct Reencryption {
  private static let pageSize = 500
  private static let batchBytes = 1 << 20
  /// The number of passes in which a value may change while it is being written anew.
  private static let attempts = 8

  let engine: EncryptedEngine
  let rotation: KeyRotation
  let origin: StoreOrigin
  /// The keys to write anew; `nil` for all.
  let prefix: StoreKey?
  /// The key under which every value shall be encrypted; `nil` if another goal is pursued.
  var target: KeyID?
  private var conflicts: [StoreKey: Int] = [:]

  init(engine: EncryptedEngine, rotation: KeyRotation, origin: StoreOrigin, prefix: StoreKey?, target: KeyID?) {
    self.engine = engine
    self.rotation = rotation
    self.origin = origin
    self.prefix = prefix
    self.target = target
  }

  private var base: any StorageEngine { engine.base }

  /// Passes over the store until a pass finds nothing to change.
  mutating func run(_ report: inout RotationReport) async throws {
    let total = try await count()
    rotation.update { $0.totalValues = total }
    while true {
      var pass = Pass()
      try await examineAll(&pass, after: report)
      report.changedValues += pass.changedValues
      report.changedBytes += pass.changedBytes
      (report.values, report.failures) = (pass.values, pass.failures)
      if pass.changedValues == 0, pass.conflicts == 0 { break }
      rotation.update { $0.values = 0 }
    }
    // The old keys are removed next, which must not survive a power loss that the new values do not survive.
    try await base.flush()
  }

  private struct Pass {
    var values = 0
    var changedValues = 0
    var changedBytes = 0
    /// The number of values that another writer has changed meanwhile.
    var conflicts = 0
    var failures: [RotationReport.Failure] = []
  }

  private func count() async throws -> Int {
    var (count, last): (Int, StoreKey?) = (0, nil)
    while true {
      let page = try await summaries(after: last)
      guard let end = page.last else { return count }
      count += page.count
      last = end.key
    }
  }

  private func summaries(after last: StoreKey?) async throws -> [StoreEntrySummary] {
    try await base.withAllStored { try await $0.summaries(prefix: nil, after: last, limit: Self.pageSize) }
  }

  private mutating func examineAll(_ pass: inout Pass, after report: RotationReport) async throws {
    var last: StoreKey?
    while true {
      // A snapshot for each page: a long one would keep the log from being checkpointed.
      let page = try await summaries(after: last)
      guard let end = page.last else { return }
      var rest = page[...]
      while !rest.isEmpty {
        try Task.checkCancellation()
        var size = 0
        let part = rest.prefix { summary in
          defer { size += summary.size ?? Self.batchBytes / 64 }
          return size < Self.batchBytes
        }
        rest = rest.dropFirst(part.count)
        try await examine(part.map(\.key), &pass)
        let done = pass
        rotation.update { progress in
          progress.values = done.values
          progress.changedValues = report.changedValues + done.changedValues
          progress.changedBytes = report.changedBytes + done.changedBytes
        }
      }
      last = end.key
    }
  }

  /// Examines values by their stored keys, and writes those anew that need it.
  private mutating func examine(_ keys: [StoreKey], _ pass: inout Pass) async throws {
    pass.values += keys.count
    var changes: [Change] = []
    for (key, entry) in zip(keys, try await stored(keys, &pass)) {
      guard let entry else { continue }
      do {
        if let change = try await change(of: key, entry) { changes.append(change) }
      } catch let error as StorageError {
        try record(error, &pass)
      }
    }
    try await commit(changes, &pass)
  }

  /// Reads values, and each by itself if one of them cannot be read.
  private func stored(_ keys: [StoreKey], _ pass: inout Pass) async throws -> [StoreEntry?] {
    do {
      return try await base.withAllStored { try await $0.entries(keys) }
    } catch let error as StorageError where error.code == .damaged {
      var entries: [StoreEntry?] = []
      for key in keys {
        do { entries += try await base.withAllStored { try await $0.entries([key]) } } catch let error as StorageError
          where error.code == .damaged
        {
          entries.append(nil)
          try record(error, &pass)
        }
      }
      return entries
    }
  }

  /// The codes of errors that concern one value, so that the others are written anew.
  private static let ofOneValue: [StorageError.Code] = [
    .damaged, .keyUnavailable, .newerFormat, .notEncrypted, .valueTooLarge, .unsupported,
  ]

  private func record(_ error: StorageError, _ pass: inout Pass) throws {
    guard Self.ofOneValue.contains(error.code) else { throw error }
    // The key of a damaged value whose name is hidden is a hash.
    let name = error.key.flatMap { key in engine.cipher.names.map { $0.knownName(of: key) } ?? key }
    pass.failures.append(RotationReport.Failure(key: name, error: error))
  }

  private struct Change {
    let name: StoreKey
    /// The opened value; `nil` for one that has expired, which is removed.
    let entry: StoreEntry?
    var operations: [WriteBatch.Operation] {
      // For preconditions a value that has expired is absent.
      guard let entry else { return [.require(name, nil), .delete(name)] }
      return [.require(name, entry.revision), .put(name, entry.value, entry.attributes)]
    }
  }

  /// Returns the value to write anew, or `nil` if it has the right form.
  private func change(of key: StoreKey, _ stored: StoreEntry) async throws -> Change? {
    try await engine.opening { cipher in
      // A pass that compared values with two keys in turn would prove nothing about either.
      guard target == nil || target == cipher.ring.primary.id else {
        throw StorageError.isRotatedElsewhere(engine.description)
      }
      let name = try cipher.name(of: key, stored.attributes)
      guard prefix.map(name.hasPrefix) ?? true, cipher.mustChange(stored, of: name) else { return nil }
      guard !stored.attributes.isMarked || cipher.ring.phase == .decrypting || cipher.encrypts(name) else {
        throw StorageError.isDeclaredElsewhere(name, location: engine.description)
      }
      let isExpired = stored.attributes.isExpired(at: engine.clock.now())
      return Change(name: name, entry: isExpired ? nil : try cipher.open(stored, of: name))
    }
  }

  private mutating func commit(_ changes: [Change], _ pass: inout Pass) async throws {
    guard !changes.isEmpty else { return }
    do {
      try await engine.commit(WriteBatch(changes.flatMap(\.operations), durability: .relaxed), from: origin)
      pass.changedValues += changes.count
      pass.changedBytes += changes.reduce(0) { $0 + ($1.entry?.value.count ?? 0) }
    } catch let error as StorageError where error.code == .preconditionFailed || Self.ofOneValue.contains(error.code) {
      // One of them was changed by another writer, or cannot be written. The others are written by themselves.
      guard let change = changes.first, changes.count == 1 else {
        for change in changes { try await commit([change], &pass) }
        return
      }
      guard error.code == .preconditionFailed else {
        return try record(error.locating(at: "", key: change.name), &pass)
      }
      conflicts[change.name, default: 0] += 1
      guard conflicts[change.name, default: 0] < Self.attempts else {
        let busy = StorageError(
          .busy, "Other programs keep changing the value, or it is stored in plain and encrypted at once.",
          advice: "Close programs that write to the store without encryption, and run the same operation again.",
          location: engine.description, key: change.name)
        return pass.failures.append(RotationReport.Failure(key: change.name, error: busy))
      }
      pass.conflicts += 1
    }
  }
}

extension StoreCipher {
  /// Whether a stored value has another form than the key ring demands.
  func mustChange(_ stored: StoreEntry, of name: StoreKey) -> Bool {
    // In a store that is complete, opening a plain value reports it.
    guard stored.attributes.isMarked else { return encrypts(name) && ring.phase != .decrypting }
    guard ring.phase != .decrypting else { return true }
    guard let header = try? EnvelopeHeader(of: stored.value) else { return true }  // opening it reports the damage
    return header.keyID != ring.primary.id
  }
}

extension StorageError {
  fileprivate static func isRotatedElsewhere(_ location: String) -> StorageError {
    StorageError(
      .busy, "Another rotation of the store has begun, with a newer key.",
      advice: "Let it finish, or rotate again. Every value can be read.", location: location)
  }

  /// Returns the error for an encrypted value that would be stored in plain.
  fileprivate static func isDeclaredElsewhere(_ key: StoreKey, location: String) -> StorageError {
    StorageError(
      .unsupported, "The value is encrypted, and this program does not declare that it is.",
      advice: "Run the rotation in the program that declares it. The value stays as it is.", location: location,
      key: key)
  }
}
