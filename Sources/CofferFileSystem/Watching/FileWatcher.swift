import CofferCore
import CofferLocks
import Foundation

/// Calls back when a file was written in place or a directory has changed, and once per interval in any case: one
/// thread for the whole process.
///
/// The calls come from the watcher's thread, so they must be short. Where the system has no inotify, the interval is
/// all there is, and it is shorter.
package final class FileWatcher: Sendable {
  package static let shared = FileWatcher()

  /// What happened to a watched path, as far as the watcher can tell.
  package enum Event: Sendable, Equatable {
    /// A file was written in place, or may have been.
    case written
    /// A file of this name in a directory was written, made, moved or removed.
    case changed(name: String)
    /// Events were lost: anything may have happened.
    case unknown
    /// Some time has passed.
    case interval
    /// Some time has passed, and the system tells nothing of this directory: look at it.
    case unheard
  }

  /// How long a lost event can stay unnoticed, in milliseconds.
  private static let interval: Int32 = 1_000
  /// How often to look where the system tells nothing: it has no inotify, or this user has no more of it.
  private static let pollInterval: Int32 = 20

  private struct Watch: Sendable {
    let path: String
    let isDirectory: Bool
    var descriptor: Int32
    var listens = false
    let callback: @Sendable (Event) -> Void

    /// Whether changes should be told at once, and the system does not tell them.
    var isDeaf: Bool { listens && descriptor < 0 }
    /// The same, but for a directory that is not there: nothing in it can change until it is.
    var mustPoll: Bool { isDeaf && access(path, F_OK) == 0 }
  }

  private struct State {
    var watches: [UInt64: Watch] = [:]
    var nextID: UInt64 = 0
    var isRunning = false
    /// The inotify descriptor, -1 where there is none.
    var queue: Int32 = -1

    /// Ends the system's watch, unless the same file is watched twice: that is one descriptor.
    func release(_ descriptor: Int32) {
      guard descriptor >= 0, !watches.values.contains(where: { $0.descriptor == descriptor }) else { return }
      FileWatcher.removeWatch(descriptor, from: queue)
    }
  }

  /// What the system has told of one of its watches.
  private struct Report {
    let descriptor: Int32
    let name: String
  }

  private let state = Locked(State())

  /// Calls back once per interval; and, after ``listen(_:)``, at once when somebody writes to the file that is there.
  package func watch(_ path: String, _ callback: @escaping @Sendable (Event) -> Void) -> UInt64 {
    add(Watch(path: path, isDirectory: false, descriptor: -1, callback: callback))
  }

  /// Calls back for each file of a directory that somebody has changed. Files are not watched themselves: a watch on a
  /// file ends when an editor replaces it.
  package func watch(directory path: String, _ callback: @escaping @Sendable (Event) -> Void) -> UInt64 {
    let id = add(Watch(path: path, isDirectory: true, descriptor: -1, callback: callback))
    listen(id)
    return id
  }

  private func add(_ watch: Watch) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.watches[state.nextID] = watch
      if !state.isRunning {
        state.isRunning = true
        Self.makeQueue(&state.queue)  // before the thread begins to wait for it
        let thread = Thread { [self] in run() }
        thread.name = "coffer.watcher"
        thread.start()
      }
      return state.nextID
    }
  }

  package func unwatch(_ id: UInt64) {
    state.withLock { state in
      guard let watch = state.watches.removeValue(forKey: id) else { return }
      state.release(watch.descriptor)
    }
  }

  /// Hears of the file that is at the path now; call it again after the file was replaced.
  package func listen(_ id: UInt64) { _ = listenAnew(id) }

  /// - Returns: Whether something else is heard of now than before.
  private func listenAnew(_ id: UInt64) -> Bool {
    state.withLock { state in
      guard let watch = state.watches[id] else { return false }
      let descriptor = Self.addWatch(watch, to: &state.queue)
      state.watches[id]?.listens = true
      state.watches[id]?.descriptor = descriptor
      guard descriptor != watch.descriptor else { return false }
      state.release(watch.descriptor)
      return descriptor >= 0
    }
  }

  /// The `errno` of an attempt to watch a directory, or 0; what `coffer doctor` asks.
  package static func failureToWatch(_ path: String) -> Int32 {
    #if os(Linux)
      let queue = inotify_init1(Int32(IN_CLOEXEC))
      guard queue >= 0 else { return errno }
      defer { close(queue) }
      return inotify_add_watch(queue, path, directoryEvents) >= 0 ? 0 : errno
    #else
      return 0
    #endif
  }

  private func run() {
    var due = DispatchTime.now().uptimeNanoseconds
    while !stopWhenIdle() {
      let (queue, isDeaf) = state.withLock { ($0.queue, $0.watches.values.contains(where: \.mustPoll)) }
      let reports = Self.waitForEvents(of: queue, milliseconds: isDeaf ? Self.pollInterval : Self.interval)
      let watches = state.withLock { Array($0.watches.values) }
      if let reports { tell(watches, reports) } else { for watch in watches { watch.callback(.unknown) } }
      for watch in watches where watch.isDeaf { watch.callback(watch.isDirectory ? .unheard : .written) }
      let now = DispatchTime.now().uptimeNanoseconds
      guard now >= due else { continue }
      due = now + UInt64(Self.interval) * 1_000_000
      for watch in watches { watch.callback(.interval) }
      listenAgain()
    }
  }

  /// What the system had no watch for a moment ago it may have one for now, and a directory that is watched may have
  /// been removed, moved away or hidden by a mount: then the one at its path is meant.
  private func listenAgain() {
    let watches = state.withLock { $0.watches.filter { $0.value.isDeaf || $0.value.isDirectory } }
    for (id, watch) in watches where listenAnew(id) { watch.callback(watch.isDirectory ? .unknown : .written) }
  }

  private func tell(_ watches: [Watch], _ reports: [Report]) {
    guard !reports.isEmpty else { return }
    for watch in watches {
      let mine = reports.filter { $0.descriptor == watch.descriptor }
      guard !mine.isEmpty else { continue }
      if watch.isDirectory {
        for report in mine { watch.callback(.changed(name: report.name)) }
      } else {
        watch.callback(.written)
      }
    }
  }

  private func stopWhenIdle() -> Bool {
    state.withLock { state in
      if state.watches.isEmpty { state.isRunning = false }
      return !state.isRunning
    }
  }

  #if os(Linux)
    /// Files of a directory are told of once they are whole: closed, or moved into it.
    private static let directoryEvents =
      UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE) | UInt32(IN_ONLYDIR)

    private static func makeQueue(_ queue: inout Int32) {
      if queue < 0 { queue = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) }
    }

    private static func addWatch(_ watch: Watch, to queue: inout Int32) -> Int32 {
      makeQueue(&queue)
      guard queue >= 0 else { return -1 }
      return inotify_add_watch(queue, watch.path, watch.isDirectory ? directoryEvents : UInt32(IN_MODIFY))
    }

    private static func removeWatch(_ descriptor: Int32, from queue: Int32) { inotify_rm_watch(queue, descriptor) }

    /// What has happened; `nil` after an overflow.
    private static func waitForEvents(of queue: Int32, milliseconds: Int32) -> [Report]? {
      var wait = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, milliseconds) > 0 else { return [] }
      var reports: [Report]? = []
      withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
        while true {
          let count = read(queue, buffer.baseAddress, buffer.count)
          guard count > 0 else { return }
          var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
          while let report = takeReport(&rest) {
            if report.descriptor < 0 { reports = nil } else { reports?.append(report) }
          }
        }
      }
      return reports
    }

    /// The first report of some; its descriptor is -1 after an overflow.
    private static func takeReport(_ rest: inout UnsafeRawBufferPointer) -> Report? {
      let header = MemoryLayout<inotify_event>.size
      guard rest.count >= header else { return nil }
      let event = rest.loadUnaligned(as: inotify_event.self)
      let end = header + Int(event.len)
      // The name is padded with NUL bytes.
      let name = rest[header..<end].prefix { $0 != 0 }
      rest = UnsafeRawBufferPointer(rebasing: rest[end...])
      return Report(descriptor: event.wd, name: String(decoding: name, as: UTF8.self))
    }
  #else
    private static func makeQueue(_ queue: inout Int32) {}
    private static func addWatch(_ watch: Watch, to queue: inout Int32) -> Int32 { -1 }
    private static func removeWatch(_ descriptor: Int32, from queue: Int32) {}
    private static func waitForEvents(of queue: Int32, milliseconds: Int32) -> [Report]? {
      poll(nil, 0, milliseconds)
      return []
    }
  #endif
}
