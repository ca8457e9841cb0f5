import CofferCPostgreSQL
import CofferCore
import Dispatch

/// Looks up names of hosts, which blocks a thread for as long as the system's resolver takes.
///
/// A lookup cannot be stopped, so that callers share the one that is under way for a name: a resolver that hangs
/// occupies one thread per name.
final class HostLookup: Sendable {
  static let shared = HostLookup { name in
    let capacity = 16
    let size = Int(coffer_pq_address_size)
    var memory = [CChar](repeating: 0, count: capacity * size)
    let count = coffer_pq_resolve(name, &memory, Int32(capacity))
    guard count >= 0 else { return nil }
    return (0..<Int(count)).map { index in
      let bytes = memory[(index * size)..<((index + 1) * size)].prefix { $0 != 0 }
      return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  private struct Name: Hashable { let text: String }
  private typealias Waiter = CheckedContinuation<Result<[String], ConnectFailure>, Never>

  private struct State {
    var waiters: [Name: [(id: UInt64, waiter: Waiter)]] = [:]
    var lastID: UInt64 = 0
  }

  private let state = Locked(State())
  private let resolve: @Sendable (String) -> [String]?

  /// - Parameter resolve: returns the numeric addresses of a name, or `nil` if it has none. It may block.
  init(_ resolve: @escaping @Sendable (String) -> [String]?) { self.resolve = resolve }

  /// Returns the numeric addresses of a name, without repetitions.
  func addresses(of name: String, within: Duration) async throws(ConnectFailure) -> [String] {
    let name = Name(text: name)
    let found = await withCheckedContinuation { (waiter: Waiter) in
      let (id, isFirst) = state.withLock { state -> (UInt64, Bool) in
        state.lastID += 1
        let isFirst = state.waiters[name] == nil
        state.waiters[name, default: []].append((state.lastID, waiter))
        return (state.lastID, isFirst)
      }
      let delay = DispatchTimeInterval.milliseconds(Int(clamping: Int64(within / .milliseconds(1))))
      DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [self] in giveUp(id, on: name) }
      if isFirst { DispatchQueue(label: "coffer.lookup").async { [self] in finish(name, resolve(name.text)) } }
    }
    let addresses = try found.get()
    var unique: [String] = []
    for address in addresses where !unique.contains(address) { unique.append(address) }
    return unique
  }

  private func finish(_ name: Name, _ addresses: [String]?) {
    let waiters = state.withLock { $0.waiters.removeValue(forKey: name) } ?? []
    for (_, waiter) in waiters {
      waiter.resume(returning: addresses.flatMap { $0.isEmpty ? nil : .success($0) } ?? .failure(.unknownHost))
    }
  }

  private func giveUp(_ id: UInt64, on name: Name) {
    // The name keeps its entry, even without waiters, until its lookup has ended.
    let waiter = state.withLock { state -> Waiter? in
      guard let index = state.waiters[name]?.firstIndex(where: { $0.id == id }) else { return nil }
      return state.waiters[name]?.remove(at: index).waiter
    }
    waiter?.resume(returning: .failure(.slowName))
  }
}
