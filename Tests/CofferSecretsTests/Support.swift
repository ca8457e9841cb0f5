import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferSecrets

#if SecretService && os(Linux)
  import CofferBus
#endif

/// Whether the client is built and a keyring is installed to test it with.
let canTestKeyring: Bool = {
  #if SecretService && os(Linux)
    PrivateKeyring.isInstalled
  #else
    false
  #endif
}()

let keyringUnavailabilityReason: Comment =
  "\(PrivateKeyring.isInstalled ? "built without SecretService" : PrivateKeyring.unavailabilityReason)"

/// Returns the code of the storage error that `body` throws.
func code(of body: () throws -> some Any) -> StorageError.Code? {
  do {
    _ = try body()
    return nil
  } catch { return (error as? StorageError)?.code }
}

/// Returns the duration of `body`.
func duration(of body: () throws -> Void) rethrows -> Duration {
  try ContinuousClock().measure(body)
}

/// A collector of events that can wait for one of them, within a deadline.
final class Events<Event: Sendable>: Sendable {
  private let seen = Locked<[Event]>([])
  private let arrived = DispatchSemaphore(value: 0)

  func add(_ event: Event) {
    seen.withLock { $0.append(event) }
    arrived.signal()
  }

  var all: [Event] { seen.withLock { $0 } }

  func forget() { seen.withLock { $0 = [] } }

  /// Returns whether a matching event has arrived or arrives within ten seconds.
  func has(_ matches: (Event) -> Bool) -> Bool {
    let deadline = DispatchTime.now() + .seconds(10)
    while !all.contains(where: matches) {
      guard arrived.wait(timeout: deadline) == .success else { return all.contains(where: matches) }
    }
    return true
  }
}

#if SecretService && os(Linux)
  func attributes(_ name: String) -> [KeyringAttribute] {
    [KeyringAttribute("service", "coffer.test"), KeyringAttribute("name", name)]
  }

  extension SecretServiceClient {
    @discardableResult
    func create(_ name: String, _ secret: Data = Data("secret".utf8), replace: Bool = true) throws -> KeyringItemPath {
      try create(label: "Test \(name)", attributes(name), secret: secret, replace: replace)
    }
  }

  /// Returns the number of connections to the bus, its own included, once it is at most `wanted`.
  func connections(of keyring: PrivateKeyring, awaiting wanted: Int) throws -> Int {
    let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
    let list = BusMethod("org.freedesktop.DBus", "ListNames", reply: "(as)")
    var count = 0
    try blockUntil("\(wanted) connections") {
      count = try connection.call(list)[0]?.texts.count { $0.hasPrefix(":") } ?? 0
      return count <= wanted
    }
    return count
  }

  extension SecretServiceState {
    var isNoBus: Bool { if case .noBus = self { true } else { false } }
    var isNoService: Bool { if case .noService = self { true } else { false } }
    var isNoAnswer: Bool { if case .noAnswer = self { true } else { false } }
  }
#endif
