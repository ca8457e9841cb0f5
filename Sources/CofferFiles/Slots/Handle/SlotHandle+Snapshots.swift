import CofferCore
import CofferSQLite
import Dispatch

/// The lock that signals open snapshots, shared by all snapshots of one handle to save open files.
struct SharedSign {
  weak var present: LockFile?
}

extension SlotHandle {
  /// Signals an open snapshot to every process for the lifetime of the returned lock.
  func announceSnapshot() throws -> LockFile? {
    if let present = snapshotSign.withLock({ $0.present }) { return present }
    let sign = try control.announceSnapshot()
    snapshotSign.withLock { $0.present = sign }
    return sign
  }

  /// Retains the value that a commit is about to replace, for open snapshots. Errors are ignored, since the commit has
  /// happened: reading the value in a snapshot throws then.
  func retain(_ key: KeyName, _ version: SlotRecord) {
    do {
      try slots.copy(key, to: version.id)
    } catch {
      // A file system can refuse a hard link and still allow a copy.
      if let content = try? slots.read(.value(key)) {
        _ = try? slots.write(content.data, to: .retained(version.id), of: key, attributes: content.attributes)
      }
    }
    letGo(retained.add(version.id, size: version.size))
  }

  /// Retains a staged value that a later change of the same key has replaced before it was published.
  func retain(staged id: SlotID, size: Int) {
    _ = try? slots.move(.staged(id), to: .retained(id))
    letGo(retained.add(id, size: size))
  }

  /// Whether this handle retains any value.
  var retainsAny: Bool { !retained.isEmpty }

  /// Removes the retained values on a queue, and tries again each second while a snapshot is open in any process.
  ///
  /// The signal of a snapshot can outlast it for a moment: a child process inherits it until it executes a program.
  func discardRetained(on queue: DispatchQueue) {
    guard retained.beginDiscarding() else { return }
    queue.async { [weak self] in self?.discardAndRepeat(on: queue) }
  }

  private func discardAndRepeat(on queue: DispatchQueue) {
    discardRetained()
    guard retained.endDiscarding() else { return }
    queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.discardRetained(on: queue) }
  }

  /// Removes the retained values if no snapshot is open. A snapshot that begins now needs no value replaced before.
  func discardRetained() {
    guard retainsAny else { return }
    let versions = retained.takeAll()
    guard !control.hasSnapshots else { return letGo(retained.putBack(versions)) }
    letGo(versions.map(\.id))
  }

  private func letGo(_ ids: [SlotID]) {
    for id in ids { try? slots.delete(.retained(id)) }
  }
}

/// The versions that one handle retains for snapshots: the newest ones, up to a total size and a number.
final class RetainedVersions: Sendable {
  struct Version: Sendable {
    let id: SlotID
    let size: Int
  }

  private struct State {
    var versions: [Version] = []  // the oldest first
    var bytes = 0
    var isDiscarding = false
  }

  private let state = Locked(State())
  private let maximumBytes: Int
  private let maximumCount: Int

  init(bytes: Int, count: Int) {
    maximumBytes = bytes
    maximumCount = count
  }

  var isEmpty: Bool { state.withLock { $0.versions.isEmpty } }

  /// Adds the newest version.
  /// - Returns: The oldest versions, which exceed a limit now.
  func add(_ id: SlotID, size: Int) -> [SlotID] {
    state.withLock { state in
      state.versions.append(Version(id: id, size: size))
      state.bytes += size
      return trim(&state)
    }
  }

  /// Returns whether there are versions to discard and nobody is about to do it; the caller is then.
  func beginDiscarding() -> Bool {
    state.withLock { state in
      guard !state.versions.isEmpty, !state.isDiscarding else { return false }
      state.isDiscarding = true
      return true
    }
  }

  /// Returns whether versions are left.
  func endDiscarding() -> Bool {
    state.withLock { state in
      state.isDiscarding = false
      return !state.versions.isEmpty
    }
  }

  func takeAll() -> [Version] {
    state.withLock { state in
      defer { (state.versions, state.bytes) = ([], 0) }
      return state.versions
    }
  }

  /// Adds versions as the oldest ones.
  /// - Returns: The oldest versions, which exceed a limit now.
  func putBack(_ versions: [Version]) -> [SlotID] {
    state.withLock { state in
      state.versions = versions + state.versions
      state.bytes += versions.reduce(0) { $0 + $1.size }
      return trim(&state)
    }
  }

  private func trim(_ state: inout State) -> [SlotID] {
    var dropped = 0
    while state.bytes > maximumBytes || state.versions.count - dropped > maximumCount, dropped < state.versions.count {
      state.bytes -= state.versions[dropped].size
      dropped += 1
    }
    defer { state.versions.removeFirst(dropped) }
    return state.versions.prefix(dropped).map(\.id)
  }
}
