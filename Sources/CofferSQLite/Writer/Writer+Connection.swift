import CofferCore

/// The write connection.
extension Writer {
  /// Returns the committer, on a connection that is opened if there is none yet.
  func opened(_ committer: inout GroupCommitter?, until deadline: UInt64?) throws -> GroupCommitter {
    if let committer { return committer }
    let opened = try makeCommitter(file, until: deadline)
    committer = opened
    return opened
  }

  /// Returns a committer on a connection of its own, which begins at the newest revision that was ever announced.
  func makeCommitter(_ file: StoreFile, until deadline: UInt64? = nil) throws -> GroupCommitter {
    let newest = max(history.revision, listener.newest())
    return try file.connect(files) { connection in
      let limit = deadline ?? self.deadline(milliseconds: file.busyTimeout)
      return try connection.waiting(LockWait(until: limit)) {
        try GroupCommitter(
          connection, epoch: history.epoch, from: newest, configuration: configuration, failure: listener.failure)
      }
    }
  }
}
