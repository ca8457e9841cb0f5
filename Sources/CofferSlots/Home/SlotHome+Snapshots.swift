import CofferCore
import CofferLocks
import CofferSQLite

/// The sign that a snapshot is open, shared by all of one handle: each would be an open file of its own.
struct SharedSign {
  weak var present: LockFile?
}

extension SlotHome {
  /// Says to all processes, as long as the result lives, that a snapshot is open.
  func announceSnapshot() throws -> LockFile? {
    if let present = snapshotSign.withLock({ $0.present }) { return present }
    let sign = try control.announceSnapshot()
    snapshotSign.withLock { $0.present = sign }
    return sign
  }

  /// Keeps what a commit is about to replace, if a snapshot may still read it. Where that cannot be done, the reader of
  /// the snapshot is told; the commit has happened and goes on.
  func retain(_ key: StoreKey, _ version: SlotRecord) {
    do {
      try slots.copy(.value(key), to: .retained(version.id))
    } catch {
      // A second name for a file can be refused where a second file is not.
      if let content = try? slots.read(.value(key)) { _ = try? slots.write(content.data, to: .retained(version.id)) }
    }
    letGo(retained.add(version.id, size: version.size))
  }

  /// Keeps a value that was aside and is not wanted in its place any more.
  func retain(staged id: SlotID, size: Int) {
    _ = try? slots.move(.staged(id), to: .retained(id))
    letGo(retained.add(id, size: size))
  }

  /// Whether anything is kept.
  var retainsAny: Bool { !retained.isEmpty }

  /// Removes what was kept for snapshots once none is open. A snapshot that begins now needs nothing that was replaced
  /// before.
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

/// What one handle keeps for snapshots: the newest versions up to a size and a number.
final class RetainedVersions: Sendable {
  struct Version: Sendable {
    let id: SlotID
    let size: Int
  }

  private struct State {
    var versions: [Version] = []  // the oldest first
    var bytes = 0
  }

  private let state = Locked(State())
  private let maximumBytes: Int
  private let maximumCount: Int

  init(bytes: Int, count: Int) {
    maximumBytes = bytes
    maximumCount = count
  }

  var isEmpty: Bool { state.withLock { $0.versions.isEmpty } }

  /// - Returns: The oldest ones that are too many now.
  func add(_ id: SlotID, size: Int) -> [SlotID] {
    state.withLock { state in
      state.versions.append(Version(id: id, size: size))
      state.bytes += size
      return trim(&state)
    }
  }

  func takeAll() -> [Version] {
    state.withLock { state in
      defer { state = State() }
      return state.versions
    }
  }

  /// - Returns: The oldest ones that are too many now.
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
