import CofferCSQLite
import CofferCore
import Dispatch

/// Copies the write-ahead log into the database beside the commits, on a connection and a queue of its own.
///
/// The log starts again from its beginning only when all of it was copied at the start of a commit. So after the long
/// part, which runs beside the writer, the writer itself copies the few pages that came meanwhile.
final class Checkpointer: Sendable {
  /// The log size in pages at which copying starts: 4 MB, as SQLite's own default.
  static let threshold = 1_000

  private let queue = DispatchQueue(label: "coffer.checkpoint", qos: .utility)
  private let place: StorePlace
  private let isScheduled = Locked(false)
  private let connection = Locked<Connection?>(nil)  // touched on the queue only

  init(_ place: StorePlace) { self.place = place }

  /// Starts copying unless it is under way, then calls `finish` if pages are left for the writer.
  func start(finish: @escaping @Sendable () -> Void) {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    queue.async { [self] in
      let isComplete = checkpoint()
      isScheduled.withLock { $0 = false }
      if !isComplete { finish() }
    }
  }

  /// Closes the connection once the work under way is done.
  func close() {
    queue.sync { connection.withLock { $0 = nil } }
  }

  private func checkpoint() -> Bool {
    connection.withLock { connection in
      do {
        let present = try connection ?? Connection(place)
        connection = present
        return present.checkpoint()
      } catch {
        return true  // Nothing to hand over: a later commit asks again.
      }
    }
  }
}

extension Connection {
  /// Copies what can be copied without waiting for anybody. Whether that was all of the log.
  @discardableResult
  func checkpoint() -> Bool {
    var pages: Int32 = 0
    var copied: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
    return code == SQLITE_OK && copied == pages
  }
}
