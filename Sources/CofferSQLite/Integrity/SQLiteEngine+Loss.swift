import CofferCSQLite
import CofferCore
import Foundation

extension SQLiteEngine {
  /// Returns the loss of acknowledged commits that was not accepted yet, or `nil` if there is none.
  public func loss() async throws -> LossReport? {
    try openCore().presentLoss
  }

  /// Accepts a loss: the readable rows become the complete store, and the loss is no longer reported.
  ///
  /// If pages are damaged, the store is rewritten from what can be read, which needs disk space for a copy of the whole
  /// store. Values that do not match their own checksums stay damaged.
  /// - Throws: `StorageError`: `damaged` if too little can be read; then restore a backup. Nothing was changed.
  public func acceptLoss() async throws {
    let store = try openStore()
    do {
      try await store.writer.perform { try $0.acceptLoss() }
    } catch let error as StorageError where error.isDamagedPage {
      let file = store.salvagedFile
      try await store.writer.perform { _ in try Connection(file).writeAnew() }
      try await store.writer.perform { try $0.acceptLoss() }
    }
    store.acceptLoss()
  }

  /// Rewrites a store that can no longer be opened because a page that every opening reads is damaged.
  ///
  /// Only what can be read is kept; ``verify()`` reports what is missing afterwards. Copy the files first.
  /// - Throws: `StorageError`: `damaged` if too little can be read; `busy` while others use it. Nothing was changed.
  public static func salvage(at path: String) async throws {
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    var file = try StoreFile.resolve(path, configuration: configuration)
    file.ignoresPageFaults = true
    try await salvageQueue.run { [file] in try Connection(file).writeAnew() }
  }

  /// Adds the missing page checksums of a store that was written by an older version or by another program.
  ///
  /// A store whose pages reserve no space for them is rewritten, which needs disk space for a copy of the whole store.
  /// - Throws: `StorageError`: `busy` while others read or write; `diskFull`.
  public func upgrade() async throws {
    let store = try openStore()
    try await store.writer.perform { [file = store.file] _ in
      let connection = try Connection(file)
      try FormatUpgrade.seal(connection)
      _ = try connection.sealPages()
    }
  }
}

private let salvageQueue = DispatchQueue(label: "coffer.salvage", qos: .utility, attributes: .concurrent)

extension Connection {
  /// Rewrites all readable content into new pages, and copies the log into the database.
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
  /// Records the present rows as the complete store, and deletes the loss report.
  fileprivate func acceptLoss() throws {
    try recount()
    try housekeep { try LossReport.forget(connection) }
  }
}
