// A storage of an app, written with the printed declarations of the protocol: Swift 5 mode, without `Sendable`.
import CofferCallbacks
import Foundation

class PrintedStorage: KeyValueStorage {
  struct NoSuchValue: Error {}

  private let queue = DispatchQueue(label: "printed")
  private var values: [Key: Value] = [:]

  func store(value: Value, for key: Key, finished: @escaping (_ error: Error?) -> Void) {
    queue.async {
      self.values[key] = value
      finished(nil)
    }
  }

  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: Error?) -> Void) {
    queue.async {
      if let value = self.values[key] { finished(value, nil) } else { finished(nil, NoSuchValue()) }
    }
  }

  func remove(for key: Key, finished: @escaping (_ error: Error?) -> Void) {
    queue.async { finished(self.values.removeValue(forKey: key) == nil ? NoSuchValue() : nil) }
  }
}
