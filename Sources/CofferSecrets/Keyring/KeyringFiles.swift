import CofferCore
import CofferFileSystem
import Foundation

/// Reports writes to the keyring's files, at most every two seconds, since listing a whole keyring is expensive.
final class KeyringFiles: Sendable {
  private struct State {
    var watch: UInt64?
    var isDue = false
  }

  private static let interval = DispatchTimeInterval.seconds(2)

  private let queue = DispatchQueue(label: "coffer.keyring.files")
  private let state = Locked(State())
  private let changed: @Sendable () -> Void

  init(_ directory: String, _ changed: @escaping @Sendable () -> Void) {
    self.changed = changed
    let watch = FileWatcher.shared.watch(directory: directory) { [weak self] event in
      switch event {
      case .changed(let name, _) where name.hasSuffix(".keyring"): self?.schedule()
      case .unknown: self?.schedule()
      case .changed, .unheard, .interval, .written: break
      }
    }
    state.withLock { $0.watch = watch }
  }

  private func schedule() {
    let mustStart = state.withLock { state in
      defer { state.isDue = true }
      return !state.isDue
    }
    guard mustStart else { return }
    queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
      guard let self else { return }
      let isOpen = state.withLock { state in
        state.isDue = false
        return state.watch != nil
      }
      if isOpen { changed() }
    }
  }

  func end() {
    let watch = state.withLock { state in
      defer { state.watch = nil }
      return state.watch
    }
    if let watch { FileWatcher.shared.unwatch(watch) }
  }
}
