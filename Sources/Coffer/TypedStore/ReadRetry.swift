import CofferCore

/// The event after which a failed read is repeated.
enum ReadRetry: Sendable {
  /// A commit up to this revision may have changed the key.
  case changed(StoreRevision)
  /// The store can be used again, or a second has passed.
  case due
  /// The store was closed, or the task was cancelled.
  case ended
}

extension StorageEngine {
  /// Waits until it is worthwhile to repeat a failed read of a key: until the key changes or the store becomes usable
  /// again. A read that failed although the engine reports no problem is repeated after a second, unless it failed
  /// because of the stored bytes or of a migration, which only a change mends, or because of the user, who must not be
  /// asked again and again.
  /// - Parameter position: the position of the store before the failed read, so that no later change is missed.
  func waitToRead(_ key: KeyName, after error: StorageError, since position: JournalPosition) async -> ReadRetry {
    // Own subscriptions: cancelling the wait for the next element ends the stream.
    let (changes, states) = (changes(since: position), availability())
    return await withTaskGroup(of: ReadRetry?.self) { group in
      group.addTask {
        for await change in changes {
          switch change {
          case .commit(let commit) where commit.changed.contains(key): return .changed(commit.revision)
          case .commit: continue
          case .reload(let revision): return .changed(revision)
          }
        }
        return .ended
      }
      group.addTask {
        var wasAway = false
        for await state in states {
          if wasAway, state.isUsable { return .due }
          wasAway = !state.isUsable
        }
        return .ended
      }
      if error.isWorthRepeating {
        group.addTask {
          try? await Task.sleep(for: .seconds(1))
          return await currentAvailability.isUsable ? .due : nil
        }
      }
      for await retry in group {
        guard let retry else { continue }
        group.cancelAll()
        return retry
      }
      return .ended
    }
  }
}

extension StorageEngine {
  /// Tells that a failed operation is repeated.
  func tellRetry(_ subject: StoreEvent.Retry.Subject, attempt: Int, code: StorageError.Code) {
    guard let events else { return }
    let retry = StoreEvent.Retry(subject, attempt: attempt, code: code)
    events.emit(StoreEvent(location: description, .retried(retry)))
  }
}

extension StorageError {
  /// Whether a read that failed may succeed although neither the stored bytes nor the store has changed.
  package var isWorthRepeating: Bool {
    ![.decodingFailed, .damaged, .migrationFailed, .newerFormat, .closed].contains(code) && !isAboutQuestion
  }

  /// Whether two failures would tell a person the same.
  package func isSame(as other: StorageError) -> Bool {
    code == other.code && message == other.message && key == other.key
  }
}
