import CofferCore
import Foundation

/// A watcher that reports files written in place and directories that have changed, and calls back once per interval.
/// It uses one thread for the whole process.
///
/// Callbacks run on the watcher's thread, so they must be short. Where the system has no inotify, the watcher polls at
/// a shorter interval instead.
package final class FileWatcher: Sendable {
  package static let shared = FileWatcher()

  /// An event of a watched path.
  package enum Event: Sendable, Equatable {
    /// A file was written in place, or may have been.
    case written
    /// A file of this name in the directory was written in place, or it was moved there, moved away or removed.
    case changed(name: String, inPlace: Bool)
    /// Events were lost: any file may have changed.
    case unknown
    /// An interval has elapsed.
    case interval
    /// A polling interval has elapsed for a directory that the system does not report changes of.
    case unheard
  }

  /// The interval of ``Event/interval``, in milliseconds: how long a lost event can stay unnoticed.
  private static let interval: Int32 = 1_000
  /// The polling interval, in milliseconds, where the system has no inotify or its limit for this user is reached.
  private static let pollInterval: Int32 = 20

  private struct Watch: Sendable {
    let path: String
    let isDirectory: Bool
    var descriptor: Int32
    var listens = false
    let callback: @Sendable (Event) -> Void

    /// Whether immediate events are wanted but the system does not report them.
    var isDeaf: Bool { listens && descriptor < 0 }
    /// Whether the path must be polled: the system reports no events, and the path exists.
    var mustPoll: Bool { isDeaf && access(path, F_OK) == 0 }
  }

  private struct State {
    var watches: [UInt64: Watch] = [:]
    var nextID: UInt64 = 0
    var isRunning = false
    /// The inotify descriptor, or -1 if there is none.
    var queue: Int32 = -1

    /// Removes the inotify watch unless another watch of the same file uses its descriptor.
    func release(_ descriptor: Int32) {
      guard descriptor >= 0, !watches.values.contains(where: { $0.descriptor == descriptor }) else { return }
      FileWatcher.removeWatch(descriptor, from: queue)
    }
  }

  /// An inotify event.
  private struct Report {
    let descriptor: Int32
    let name: String
    let isInPlace: Bool
  }

  private let state = Locked(State())

  /// Watches a file: calls back once per interval and, after ``listen(_:)``, whenever the file is written.
  /// - Returns: An identifier for ``unwatch(_:)`` and ``listen(_:)``.
  package func watch(_ path: String, _ callback: @escaping @Sendable (Event) -> Void) -> UInt64 {
    add(Watch(path: path, isDirectory: false, descriptor: -1, callback: callback))
  }

  /// Watches a directory: calls back for each of its files that has changed. The files are not watched individually,
  /// since such a watch ends when an editor replaces the file.
  /// - Returns: An identifier for ``unwatch(_:)``.
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

  /// Starts immediate events for the file that is now at the path. Call it again after the file was replaced.
  package func listen(_ id: UInt64) { _ = listenAnew(id) }

  /// - Returns: Whether another file or directory is watched now than before.
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

  /// Returns the `errno` of an attempt to watch a directory, or 0, for `coffer doctor`.
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
      if let reports { emit(watches, reports) } else { for watch in watches { watch.callback(.unknown) } }
      for watch in watches where watch.isDeaf { watch.callback(watch.isDirectory ? .unheard : .written) }
      let now = DispatchTime.now().uptimeNanoseconds
      guard now >= due else { continue }
      due = now + UInt64(Self.interval) * 1_000_000
      for watch in watches { watch.callback(.interval) }
      listenAgain()
    }
  }

  /// Retries watches that the system refused, and renews those of directories, which may have been removed, moved or
  /// hidden by a mount, so that the directory at the path is watched.
  private func listenAgain() {
    let watches = state.withLock { $0.watches.filter { $0.value.isDeaf || $0.value.isDirectory } }
    for (id, watch) in watches where listenAnew(id) { watch.callback(watch.isDirectory ? .unknown : .written) }
  }

  private func emit(_ watches: [Watch], _ reports: [Report]) {
    guard !reports.isEmpty else { return }
    for watch in watches {
      let mine = reports.filter { $0.descriptor == watch.descriptor }
      guard !mine.isEmpty else { continue }
      if watch.isDirectory {
        for report in mine { watch.callback(.changed(name: report.name, inPlace: report.isInPlace)) }
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
    /// Files in a directory are reported once they are complete: closed after writing, or moved into it.
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

    /// Waits for events and returns them; `nil` after a queue overflow.
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

    /// Removes and returns the first event of a buffer; its descriptor is -1 after a queue overflow.
    private static func takeReport(_ rest: inout UnsafeRawBufferPointer) -> Report? {
      let header = MemoryLayout<inotify_event>.size
      guard rest.count >= header else { return nil }
      let event = rest.loadUnaligned(as: inotify_event.self)
      let end = header + Int(event.len)
      // The name is padded with NUL bytes.
      let name = rest[header..<end].prefix { $0 != 0 }
      rest = UnsafeRawBufferPointer(rebasing: rest[end...])
      return Report(
        descriptor: event.wd, name: String(decoding: name, as: UTF8.self),
        isInPlace: event.mask & UInt32(IN_CLOSE_WRITE) != 0)
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
