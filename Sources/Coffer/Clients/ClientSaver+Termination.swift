import CofferLocks
import Dispatch

/// What the clients of a session have to write when their process ends, as far as they have answered.
final class ClientCollection: Sendable {
  /// Left by each client that has answered.
  let done = DispatchGroup()
  fileprivate let saves = Locked<[ClientSaver.PendingSave]>([])
}

extension ClientSaver {
  /// Asks all clients with edits at the same time, also while a save is under way, which may wait for one of them.
  func collectWithoutTurn() -> ClientCollection {
    let collection = ClientCollection()
    for (id, client) in pendingClients {
      collection.done.enter()
      SavingTask.detached {
        if let save = try? await client.collect() {
          collection.saves.withLock { $0.append(PendingSave(id: id, client: client, save: save)) }
        }
        collection.done.leave()
      }
    }
    return collection
  }

  /// Writes what was collected so far. The edits stay pending: if the process goes on, the save that is under way may
  /// write older values after these, and the next one writes the newest again.
  func write(_ collection: ClientCollection) async {
    let saves = collection.saves.withLock { $0 }
    noteOutOfTurn(saves.map(\.id))
    for (saved, _) in await write(saves) { await saved.client.wroteOutOfTurn(saved.save) }
  }
}
