import CofferCallbacks
import Foundation

/// A callback storage written in Swift 6 mode without `Sendable`.
class PlainStorage: KeyValueStorage {
  struct NoSuchValue: Error {}

  private var values: [Key: Value] = [:]

  func store(value: Value, for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    values[key] = value
    finished(nil)
  }

  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void) {
    if let value = values[key] { finished(value, nil) } else { finished(nil, NoSuchValue()) }
  }

  func remove(for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    finished(values.removeValue(forKey: key) == nil ? NoSuchValue() : nil)
  }
}

/// A storage that keeps nothing and calls its completions with given values, any number of times.
final class UnrulyStorage: KeyValueStorage, Sendable {
  typealias Answer = (value: [UInt8]?, error: (any Error)?)
  let answers: @Sendable () -> [Answer]

  init(_ answers: @escaping @Sendable () -> [Answer]) { self.answers = answers }

  func store(value: Value, for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    for answer in answers() { finished(answer.error) }
  }

  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void) {
    for answer in answers() { finished(answer.value, answer.error) }
  }

  func remove(for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    for answer in answers() { finished(answer.error) }
  }
}
