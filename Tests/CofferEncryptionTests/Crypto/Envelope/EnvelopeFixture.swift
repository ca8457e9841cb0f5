import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// A data key, a context and the ways to seal a value.
struct EnvelopeFixture {
  let key: DataKey
  var context: EnvelopeContext

  init() throws {
    key = try .random()
    context = EnvelopeContext(store: try randomBytes(16), key: "user/token", attributes: .none, format: 3)
    context.attributes[.tenant] = "blue"
  }

  /// The combinations of algorithm and padding.
  static let ways = AEAD.Algorithm.allCases.flatMap { algorithm in
    [false, true].map { EnvelopeWay(algorithm: algorithm, isPadded: $0) }
  }

  func seal(_ value: Data, _ way: EnvelopeWay = ways[0]) throws -> Data {
    try Envelope.seal(value, under: key, context: context, algorithm: way.algorithm, isPadded: way.isPadded)
  }

  func open(_ envelope: Data, in other: EnvelopeContext? = nil) throws -> Data {
    try Envelope.open(envelope, context: other ?? context) { try key(for: $0) }
  }

  func key(for id: KeyID) throws -> DataKey {
    guard id == key.id else { throw StorageError(.keyUnavailable, "There is no key \(id).") }
    return key
  }

  /// Returns what opening an envelope throws: a code of `StorageError`, `authentication`, or `nil` if it opens.
  func failure(_ envelope: Data, in other: EnvelopeContext? = nil) -> String? {
    do {
      _ = try open(envelope, in: other)
      return nil
    } catch let error as StorageError {
      return "\(error.code)"
    } catch is AuthenticationFailure {
      return "authentication"
    } catch {
      return "\(error)"
    }
  }
}

struct EnvelopeWay: Sendable, CustomStringConvertible {
  let algorithm: AEAD.Algorithm
  let isPadded: Bool

  var description: String { "\(algorithm)\(isPadded ? ", padded" : "")" }
}

extension ValueAttribute<String> {
  static var tenant: ValueAttribute<String> { ValueAttribute(applicationCode: 200) }
}
