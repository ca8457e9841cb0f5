import CofferCore
import Foundation

/// Calls back when a wake-up file was rung, and once per interval in any case: one thread for the whole process.
///
/// The calls come from the watcher's thread, so they must be short. Where the system has no inotify, the interval is
/// all there is, and it is shorter.
final class WakeWatcher: Sendable {
  static let shared = WakeWatcher()

  /// What happened to a watched file, as far as the watcher can tell.
  enum Event: Sendable { case rung, interval }

  /// How long a lost wake-up can stay unnoticed, in milliseconds.
  #if os(Linux)
    private static let interval: Int32 = 1_000
  #else
    private static let interval: Int32 = 20
  #endif

  private struct Watch: Sendable {
    let path: String
    var descriptor: Int32
    let callback: @Sendable (Event) -> Void
  }

  private struct State {
    var watches: [UInt64: Watch] = [:]
    var nextID: UInt64 = 0
    var isRunning = false
  }

  private let state = Locked(State())
  private let queue: Int32  // the inotify descriptor, -1 where there is none

  private init() {
    #if os(Linux)
      queue = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    #else
      queue = -1
    #endif
  }

  /// Calls back once per interval; and, after ``listen(_:)``, at once when the file is rung.
  func watch(_ path: String, _ callback: @escaping @Sendable (Event) -> Void) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.watches[state.nextID] = Watch(path: path, descriptor: -1, callback: callback)
      if !state.isRunning {
        state.isRunning = true
        let thread = Thread { [self] in run() }
        thread.name = "coffer.watcher"
        thread.start()
      }
      return state.nextID
    }
  }

  func unwatch(_ id: UInt64) {
    state.withLock { state in
      guard let watch = state.watches.removeValue(forKey: id) else { return }
      // The same file watched twice has one descriptor.
      if watch.descriptor >= 0, !state.watches.values.contains(where: { $0.descriptor == watch.descriptor }) {
        removeWatch(watch.descriptor)
      }
    }
  }

  /// Hears the bell of the file that is at the path now; call it again after the file was replaced.
  func listen(_ id: UInt64) {
    state.withLock { state in
      guard let watch = state.watches[id] else { return }
      state.watches[id]?.descriptor = addWatch(watch.path)
    }
  }

  private func run() {
    var due = DispatchTime.now().uptimeNanoseconds
    let step = UInt64(Self.interval) * 1_000_000
    while !stopWhenIdle() {
      let rung = waitForEvents(milliseconds: Self.interval)
      let watches = state.withLock { Array($0.watches.values) }
      for watch in watches where rung.contains(watch.descriptor) { watch.callback(.rung) }
      let now = DispatchTime.now().uptimeNanoseconds
      guard now >= due else { continue }
      due = now + step
      for watch in watches { watch.callback(.interval) }
    }
  }

  private func stopWhenIdle() -> Bool {
    state.withLock { state in
      if state.watches.isEmpty { state.isRunning = false }
      return !state.isRunning
    }
  }

  #if os(Linux)
    private func addWatch(_ path: String) -> Int32 { inotify_add_watch(queue, path, UInt32(IN_MODIFY)) }

    private func removeWatch(_ descriptor: Int32) { inotify_rm_watch(queue, descriptor) }

    /// The descriptors of the watches that have events; all of them after an overflow.
    private func waitForEvents(milliseconds: Int32) -> Set<Int32> {
      var wait = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, milliseconds) > 0 else { return [] }
      var descriptors: Set<Int32> = []
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { buffer in
        while true {
          let count = read(queue, buffer.baseAddress, buffer.count)
          guard count > 0 else { return }
          var offset = 0
          while offset + MemoryLayout<inotify_event>.size <= count {
            let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
              descriptors.formUnion(state.withLock { $0.watches.values.map(\.descriptor) })
            }
            descriptors.insert(event.wd)
            offset += MemoryLayout<inotify_event>.size + Int(event.len)
          }
        }
      }
      return descriptors
    }
  #else
    private func addWatch(_ path: String) -> Int32 { -1 }
    private func removeWatch(_ descriptor: Int32) {}
    private func waitForEvents(milliseconds: Int32) -> Set<Int32> {
      poll(nil, 0, milliseconds)
      return []
    }
  #endif
}
