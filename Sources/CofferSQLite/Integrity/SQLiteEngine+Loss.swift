import CofferCSQLite
import CofferCore
import CofferLocks
import Foundation

extension SQLiteEngine {
  /// Acknowledged commits that the store does not have any more, until somebody accepts the loss; `nil` when there are
  /// none.
  public func loss() async throws -> LossReport? {
    if let readOnlyStore { return readOnlyStore.loss }
    return try openStore().loss.withLock { $0 }
  }

  /// Accepts what is lost: what can be read is all that there is, and the store does not speak of the rest any more.
  ///
  /// Damaged pages are written anew from what can be read of them, which takes a copy of the whole store. Values whose
  /// own checksums are wrong stay damaged.
  /// - Throws: `StorageError`; `damaged` when too little can be read: then restore a backup. Nothing was changed.
  public func acceptLoss() async throws {
    let store = try openStore()
    do {
      try await store.writer.perform { try $0.acceptLoss() }
    } catch let error as StorageError where error.isDamagedPage {
      let place = store.salvagingPlace
      try await store.writer.perform { _ in try Connection(place).writeAnew() }
      try await store.writer.perform { try $0.acceptLoss() }
    }
    store.acceptLoss()
  }

  /// Writes a store anew that cannot be opened any more since the pages are damaged which every opening reads.
  ///
  /// What can be read is all that there is then; ``verify()`` says what is missing. Keep a copy of the files before.
  /// - Throws: `StorageError`; `damaged` when too little can be read, `busy` while others use it. Nothing was changed.
  public static func salvage(at path: String) async throws {
    var configuration = SQLiteConfiguration()
    configuration.createsIfMissing = false
    var place = try StorePlace.resolve(path, configuration: configuration)
    place.ignoresPageFaults = true
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      salvageQueue.async { [place] in continuation.resume(with: Result { try Connection(place).writeAnew() }) }
    }
  }

  /// Gives all pages checksums, those of a store that an older version or another program has written.
  ///
  /// A store whose pages have no room for them is written anew, which takes a copy of the whole store.
  /// - Throws: `StorageError`: `busy` while others read or write, `diskFull`.
  public func upgrade() async throws {
    let store = try openStore()
    try await store.writer.perform { [place = store.place] _ in
      let connection = try Connection(place)
      try FormatUpgrade.seal(connection)
      _ = try connection.sealPages()
    }
  }
}

private let salvageQueue = DispatchQueue(label: "coffer.salvage", qos: .utility, attributes: .concurrent)

extension Connection {
  /// Writes all that can be read into fresh pages.
  fileprivate func writeAnew() throws {
    try execute("VACUUM")
    try emptyLog()
  }
}

extension SQLiteStore {
  fileprivate func acceptLoss() {
    loss.withLock { $0 = nil }
    provenRows.withLock { $0 = nil }
    availabilityFeed.set(.available)
  }
}

extension GroupCommitter {
  /// Deletes the report of the loss, and counts the rows that are there as the complete store.
  fileprivate func acceptLoss() throws {
    try recount()
    try housekeep { try LossReport.forget(connection) }
  }
}
