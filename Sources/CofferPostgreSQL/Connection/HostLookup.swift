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

  /// The lookups that are under way.
  private let lookups = Locked<[Name: Promise<[String]>]>([:])
  private let resolve: @Sendable (String) -> [String]?

  /// - Parameter resolve: returns the numeric addresses of a name, or `nil` if it has none. It may block.
  init(_ resolve: @escaping @Sendable (String) -> [String]?) { self.resolve = resolve }

  /// Returns the numeric addresses of a name, without repetitions.
  func addresses(of name: String, within: Duration) async throws(ConnectFailure) -> [String] {
    let name = Name(text: name)
    let (lookup, isFirst) = lookups.withLock { lookups in
      if let lookup = lookups[name] { return (lookup, false) }
      let lookup = Promise<[String]>()
      lookups[name] = lookup
      return (lookup, true)
    }
    if isFirst {
      DispatchQueue(label: "coffer.lookup").async { [self] in
        let found = resolve(name.text) ?? []
        lookups.withLock { $0[name] = nil }
        lookup.end(.success(found))
      }
    }
    let late = ConnectFailure.slowName
    guard let addresses = try? await lookup.value(within: within, orThrow: late) else { throw late }
    if addresses.isEmpty { throw .unknownHost }
    var unique: [String] = []
    for address in addresses where !unique.contains(address) { unique.append(address) }
    return unique
  }
}
