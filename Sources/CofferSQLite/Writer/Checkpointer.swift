import CofferCSQLite
import CofferCore
import CofferLocks
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

  /// Starts copying unless it is under way, then calls `finish`, which lets the writer copy the rest.
  func start(finish: @escaping @Sendable () -> Void) {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    queue.async { [self] in
      checkpoint()
      isScheduled.withLock { $0 = false }
      finish()
    }
  }

  /// Closes the connection once the work under way is done.
  func close() async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        connection.withLock { $0 = nil }
        continuation.resume()
      }
    }
  }

  private func checkpoint() {
    connection.withLock { connection in
      // If it cannot be opened now, the writer does all of it.
      if connection == nil { connection = try? Connection(place) }
      // A failed sync is reported to every descriptor once: the writer's own will say so too.
      _ = connection?.checkpoint()
    }
  }
}

extension Connection {
  /// Copies what can be copied without waiting for anybody; answers with SQLite's code.
  func checkpoint() -> Int32 {
    sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
  }
}
